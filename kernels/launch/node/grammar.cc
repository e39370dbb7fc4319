// The commands of three launchers, option by option. Anything that is not in a table is refused: a
// new release of an MPI needs a row here before it can start daemons through an agent.
#include "kernels/launch/node/grammar.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::launch {
namespace {

// Bounds on a request, in words and bytes.
constexpr std::size_t kMostWords = 128;
constexpr std::size_t kMostWordBytes = 16U << 10U;

// The one form of a refusal; the word is quoted and its control characters are escaped.
tl::unexpected<Error> refused(std::string_view what, std::string_view word) {
  return fail(Code::kPermissionDenied,
              "launch shim: {} {} has no place in a launcher's own command; refused", what,
              in_quotes(word));
}

// --- what a value may be
// ------------------------------------------------------------------------

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Whether the text is a value of letters, digits and `others`. A value must not begin like an
// option.
bool is_word(std::string_view text, std::string_view others) {
  return !text.empty() && !text.starts_with('-') && made_of(text, others);
}
// Digits only; the length bounds the number.
bool is_count(std::string_view text) {
  constexpr std::size_t kMostDigits = 12;
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_digit);
}
// Hydra expresses "none" by a number below zero.
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_count(text);
}
// 1 to 65535.
bool is_port(std::string_view text) {
  constexpr std::uint64_t kMostPorts = 65535;
  std::uint64_t port = 0;
  if (!is_count(text)) return false;
  for (const char c : text) port = 10 * port + static_cast<std::uint64_t>(c - '0');
  return port > 0 && port <= kMostPorts;
}
bool is_number_list(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_digit(c) || c == ','; });
}
// Values of which a launcher writes only one.
bool is_one(std::string_view text) { return text == "1"; }
bool is_zero(std::string_view text) { return text == "0"; }
bool is_env(std::string_view text) { return text == "env"; }
bool is_rsh(std::string_view text) { return text == "rsh"; }
bool is_ssh(std::string_view text) { return text == "ssh"; }
bool is_user(std::string_view text) { return text == "user"; }
bool is_poll(std::string_view text) { return text == "poll"; }
// Sets of characters in which no shell, path or option can be expressed.
bool is_name(std::string_view text) { return is_word(text, "._-"); }
bool is_namespace(std::string_view text) { return is_word(text, "._-@"); }
bool is_node(std::string_view text) { return is_word(text, ".:-"); }
bool is_component_list(std::string_view text) { return is_word(text, "^,_-"); }
// "192.0.2.0/24,eth1": only a prefix length follows a '/'.
bool is_network_list(std::string_view text) {
  return std::ranges::all_of(split(text, ','), [](std::string_view one) {
    const std::size_t slash = one.find('/');
    return is_word(one.substr(0, slash), ".:_-") &&
           (slash == std::string_view::npos || is_count(one.substr(slash + 1)));
  });
}
bool is_node_regex(std::string_view text) { return is_word(text, ".,:[]@()-"); }
// "host:port".
bool is_end_point(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && is_node(text.substr(0, colon)) &&
         is_port(text.substr(colon + 1));
}

// Parses "2036596736.0;tcp://192.0.2.2,198.51.100.2:44811;tcp6://[fd00::2]:33673" and returns each
// address with its port; absent for another form. PRRTE adds the networks' sizes: ":44811:24,16".
std::optional<std::vector<std::string>> addresses_in_uri(std::string_view uri) {
  std::vector<std::string> out;
  std::size_t semicolon = uri.find(';');
  // A number for Open MPI 4, "prterun-host-123@0.0" for its successors.
  if (semicolon == std::string_view::npos || !is_word(uri.substr(0, semicolon), "._-@"))
    return std::nullopt;
  while (semicolon != std::string_view::npos) {
    uri.remove_prefix(semicolon + 1);
    semicolon = uri.find(';');
    std::string_view one = uri.substr(0, semicolon);
    const bool six = one.starts_with("tcp6://[");
    if (!six && !one.starts_with("tcp://")) return std::nullopt;
    one.remove_prefix(six ? 8 : 6);
    const std::size_t hosts_end = one.find(six ? "]:" : ":");
    if (hosts_end == std::string_view::npos) return std::nullopt;
    const std::string_view hosts = one.substr(0, hosts_end);
    std::string_view port = one.substr(hosts_end + (six ? 1 : 0));  // with its colon
    if (const std::size_t sizes = port.find(':', 1); sizes != std::string_view::npos) {
      if (!is_number_list(port.substr(sizes + 1))) return std::nullopt;
      port = port.substr(0, sizes);
    }
    if (!is_port(port.substr(1))) return std::nullopt;
    for (const std::string_view host : split(hosts, ',')) {
      if (!is_node(host)) return std::nullopt;
      out.push_back(six ? fmt::format("[{}]{}", host, port) : fmt::format("{}{}", host, port));
    }
  }
  return out;
}

// One option: its name, the check of its value, and whether a command must have it. A null check
// means that the value is the shim's own path.
struct Rule {
  std::string_view name;
  bool (*value)(std::string_view);
  bool required = false;
};

// --- the words
// ------------------------------------------------------------------------

// Removes the launcher's quotes for a remote shell: a pair around the word, none inside.
std::optional<std::string> unquoted(std::string_view word) {
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
    word = word.substr(1, word.size() - 2);
  if (word.find_first_of("\"'`$\\\n\r") != std::string_view::npos) return std::nullopt;
  return std::string(word);
}

// Words that Open MPI puts in front of its daemon if the user's shell is sh, to read the profile
// first, with ")" at the end. They are known and removed.
constexpr std::array<std::string_view, 8> kProfile{"(",          "test", "!", "-r",
                                                   "./.profile", "||",   ".", "./.profile;"};

std::vector<std::string> without_profile(std::span<const std::string> words) {
  std::vector<std::string> out(words.begin(), words.end());
  const bool wrapped = out.size() > kProfile.size() + 2 && out.back() == ")" &&
                       std::equal(kProfile.begin(), kProfile.end(), out.begin() + 1);
  if (!wrapped) return out;
  out.pop_back();
  out.erase(out.begin() + 1, out.begin() + 1 + static_cast<std::ptrdiff_t>(kProfile.size()));
  return out;
}

// Where an installation has a prefix, PRRTE would have the other shell set the daemon's variables
// first, all in one word: "PRTE_PREFIX=/opt/p;export PRTE_PREFIX;/opt/p/bin/prted". They are known,
// and left out, since the target's agent has its own. The daemon's path, or nothing.
std::optional<std::string> without_variables(std::string_view word) {
  constexpr std::array<std::string_view, 4> kVariables{"PRTE_PREFIX", "PMIX_PREFIX",
                                                       "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"};
  const auto is_known = [&](std::string_view name) {
    return std::ranges::find(kVariables, name) != kVariables.end();
  };
  for (std::size_t end = word.find(';'); end != std::string_view::npos; end = word.find(';')) {
    std::string_view piece = word.substr(0, end);
    word.remove_prefix(end + 1);
    constexpr std::string_view kExport = "export ";
    if (piece.starts_with(kExport)) {
      if (!is_known(piece.substr(kExport.size()))) return std::nullopt;
      continue;
    }
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos || !is_known(piece.substr(0, equals))) return std::nullopt;
    const std::string before = fmt::format(":${}", piece.substr(0, equals));
    std::string_view value = piece.substr(equals + 1);
    if (value.ends_with(before)) value.remove_suffix(before.size());
    if (!is_word(value, "/._-+:")) return std::nullopt;
  }
  return std::string(word);
}

bool is_uri(std::string_view text) { return addresses_in_uri(text).has_value(); }

// Open MPI up to release 4. Tree spawn must be off, since daemons would start further daemons.
constexpr std::array kOrtedRules{Rule{"ess", is_env, true},
                                 Rule{"ess_base_jobid", is_count, true},
                                 Rule{"ess_base_vpid", is_count, true},
                                 Rule{"ess_base_num_procs", is_count, true},
                                 Rule{"orte_node_regex", is_node_regex, true},
                                 Rule{"orte_hnp_uri", is_uri, true},
                                 Rule{"orte_leave_session_attached", is_one},
                                 Rule{"plm", is_rsh, true},
                                 Rule{"plm_rsh_agent", nullptr, true},
                                 Rule{"plm_rsh_no_tree_spawn", is_one, true},
                                 Rule{"pmix", is_component_list},
                                 Rule{"oob_tcp_if_include", is_network_list, true},
                                 Rule{"btl_tcp_if_include", is_network_list}};
// PRRTE, the launcher of Open MPI 5.
constexpr std::array kPrtedRules{Rule{"ess", is_env, true},
                                 Rule{"ess_base_nspace", is_namespace, true},
                                 Rule{"ess_base_vpid", is_count, true},
                                 Rule{"ess_base_num_procs", is_count, true},
                                 Rule{"prte_hnp_uri", is_uri, true},
                                 Rule{"prte_leave_session_attached", is_one},
                                 Rule{"plm", is_ssh, true},
                                 Rule{"plm_ssh_agent", nullptr, true},
                                 Rule{"plm_ssh_no_tree_spawn", is_one, true},
                                 Rule{"plm_ssh_num_concurrent", is_count},
                                 Rule{"pmix_session_server", is_one},
                                 Rule{"oob_tcp_if_include", is_network_list},
                                 Rule{"prte_if_include", is_network_list, true}};
// MPICH's and MVAPICH2's launcher. Not required: what came with MPICH 3.3 and 4, which MVAPICH2's
// Hydra is older than.
constexpr std::array kHydraRules{Rule{"--control-port", is_end_point, true},
                                 Rule{"--rmk", is_user},
                                 Rule{"--launcher", is_rsh, true},
                                 Rule{"--launcher-exec", nullptr, true},
                                 Rule{"--demux", is_poll, true},
                                 Rule{"--iface", is_name, true},
                                 Rule{"--pgid", is_count, true},
                                 Rule{"--retries", is_count, true},
                                 Rule{"--usize", is_number, true},
                                 Rule{"--pmi-port", is_zero},
                                 Rule{"--gpus-per-proc", is_number},
                                 Rule{"--gpu-subdevs-per-proc", is_number},
                                 Rule{"--proxy-id", is_count, true}};
constexpr std::array<std::string_view, 2> kOrtedOptions{"-mca", "--mca"};
constexpr std::array<std::string_view, 2> kPrtedOptions{"--prtemca", "--pmixmca"};

// One daemon's command: its name, and the options in front of each NAME VALUE; none where the names
// are options themselves.
struct Dialect {
  Daemon daemon;
  std::string_view name;
  std::span<const std::string_view> options;
  std::span<const Rule> rules;
};
constexpr std::array kDialects{Dialect{Daemon::kOrted, "orted", kOrtedOptions, kOrtedRules},
                               Dialect{Daemon::kPrted, "prted", kPrtedOptions, kPrtedRules},
                               Dialect{Daemon::kHydraProxy, "hydra_pmi_proxy", {}, kHydraRules}};

// A parser of one command. Each option may occur once; the daemon determines the valid options.
class Reader {
 public:
  Reader(std::span<const std::string> words, std::string_view shim) : words_(words), shim_(shim) {}

  // The program's path is dropped: the target starts its own installation of that daemon.
  Result<DaemonCommand> read() {
    if (words_.size() < 2 || words_.size() > kMostWords)
      return fail(Code::kPermissionDenied,
                  "launch shim: {} words are no launcher's command; refused", words_.size());
    for (const std::string& word : words_)
      if (word.size() > kMostWordBytes) return refused("a word", word);
    if (!is_node(words_[0])) return refused("node", words_[0]);
    out_.node = words_[0];
    // Open MPI puts a space in front of its daemon.
    std::string program = words_[1];
    if (program.starts_with(' ')) program.erase(0, 1);
    const auto daemon = without_variables(program);
    const auto path = daemon ? unquoted(*daemon) : std::nullopt;
    if (!path) return refused("program", words_[1]);
    const std::string name = path->substr(path->rfind('/') + 1);
    const auto* dialect = std::ranges::find(kDialects, name, &Dialect::name);
    if (dialect == kDialects.end()) return refused("program", *path);
    out_.daemon = dialect->daemon;
    RG_TRY_OK(read_options(*dialect));
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool more() const { return at_ < words_.size(); }
  // The value that follows an option, without quotes.
  Result<std::string> value(std::string_view option) {
    if (!more()) return refused("the option without a value", option);
    auto text = unquoted(words_[at_]);
    if (!text) return refused(fmt::format("the value of {}", in_quotes(option)), words_[at_]);
    ++at_;
    return std::move(*text);
  }
  Status take(std::string_view option, std::span<const Rule> rules, std::string_view name,
              const std::string& text) {
    const Rule* rule = row_where(rules, &Rule::name, name);
    if (rule == nullptr) return refused("option", name);
    if (!seen_.insert(std::string(name)).second) return refused("the second", name);
    const bool own = rule->value == nullptr;  // the shim's own path
    if (own ? text != shim_ : !rule->value(text))
      return refused(fmt::format("{} {}", option, name), text);
    return {};
  }
  // An option that restricts the daemon (no tree spawn, its network) must not be missing.
  Status check_required(std::span<const Rule> rules) const {
    for (const Rule& rule : rules)
      if (rule.required && !seen_.contains(std::string(rule.name)))
        return fail(Code::kPermissionDenied, "launch shim: {}'s command lacks {}; refused",
                    daemon_name(out_.daemon), rule.name);
    return {};
  }

  // Takes an option of Open MPI's daemons without a value. `--daemonize` is removed, so that the
  // daemon stays a child that the agent can watch.
  Result<bool> take_flag(const std::string& option) {
    const bool stays = option == "--daemonize" && out_.daemon != Daemon::kHydraProxy;
    const bool as_root = option == "--allow-run-as-root" && out_.daemon == Daemon::kPrted;
    if (!stays && !as_root) return false;
    if (!seen_.insert(option).second) return refused("the second", option);
    if (as_root) out_.arguments.push_back(option);
    return true;
  }

  // Everything behind the program.
  Status read_options(const Dialect& dialect) {
    const bool in_pairs = !dialect.options.empty();
    at_ = 2;
    while (more()) {
      const std::string option = words_[at_++];
      if (RG_TRY(take_flag(option))) continue;
      if (in_pairs ? std::ranges::find(dialect.options, option) == dialect.options.end()
                   : row_where(dialect.rules, &Rule::name, option) == nullptr)
        return refused("option", option);
      std::string name = option;
      if (in_pairs) name = RG_TRY(value(option));
      const std::string text = RG_TRY(value(name));
      RG_TRY_OK(take(in_pairs ? option : "option", dialect.rules, name, text));
      if (name.ends_with("_hnp_uri")) out_.calls_back = *addresses_in_uri(text);
      if (name == "--control-port") out_.calls_back = {text};
      if (name == "--iface" || name.ends_with("_if_include")) out_.networks.push_back(text);
      if (in_pairs) out_.arguments.push_back(option);
      out_.arguments.insert(out_.arguments.end(), {name, text});
    }
    return check_required(dialect.rules);
  }

  std::span<const std::string> words_;
  const std::string_view shim_;
  std::size_t at_ = 0;
  std::set<std::string> seen_;
  DaemonCommand out_;
};

// Without the port, and without the brackets of an IPv6 address.
std::string host_of(const std::string& end_point) {
  std::string host = end_point.substr(0, end_point.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

std::string_view daemon_name(Daemon daemon) {
  return std::ranges::find(kDialects, daemon, &Dialect::daemon)->name;
}

Result<DaemonCommand> read_daemon_command(std::span<const std::string> words,
                                          std::string_view shim) {
  const std::vector<std::string> bare = without_profile(words);
  return Reader(bare, shim).read();
}

// All conditions must hold; the first that fails is reported.
Status check_lease(const DaemonCommand& command, const Lease& lease, double now_monotonic_ns) {
  const auto no = [&](const std::string& why) {
    return fail(Code::kPermissionDenied, "launch shim: task {}: {}; refused", lease.task, why);
  };
  if (now_monotonic_ns >= lease.expires_monotonic_ns) return no("its lease has expired");
  if (command.daemon != lease.daemon)
    return no(fmt::format("{} is not the daemon of its launcher, which is {}",
                          daemon_name(command.daemon), daemon_name(lease.daemon)));
  if (!lease.nodes.contains(command.node))
    return no(fmt::format("node {} is none of its nodes", in_quotes(command.node)));
  for (const std::string& end_point : command.calls_back)
    if (!lease.launchers.contains(host_of(end_point)))
      return no(fmt::format("{} would call {}, which is not its launcher's address",
                            daemon_name(command.daemon), in_quotes(end_point)));
  for (const std::string& network : command.networks)
    if (network != lease.network)
      return no(fmt::format("{} would use network {}, and the task's is {}",
                            daemon_name(command.daemon), in_quotes(network), lease.network));
  return {};
}

}  // namespace railgauge::launch
