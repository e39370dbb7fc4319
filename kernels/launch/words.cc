// Command lines and environments for mpirun, mpiexec, mpirun_rsh and srun.
#include "kernels/launch/words.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

using Words = std::vector<std::string>;

// Appends the words in their order.
void add(Words& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
}

// Returns each node once, in rank order, with its number of ranks.
std::vector<std::pair<std::string, int>> counted(const Words& nodes) {
  std::vector<std::pair<std::string, int>> out;
  for (const std::string& node : nodes) {
    const auto found = std::ranges::find(out, node, &std::pair<std::string, int>::first);
    if (found == out.end())
      out.emplace_back(node, 1);
    else
      ++found->second;
  }
  return out;
}

// "192.0.2.1:2,192.0.2.2:1": node and number of ranks, as both launchers read it.
std::string host_list(const Words& nodes) {
  Words out;
  for (const auto& [node, ranks] : counted(nodes)) out.push_back(fmt::format("{}:{}", node, ranks));
  return fmt::format("{}", fmt::join(out, ","));
}

// The arguments of Open MPI's ranks.
Words ranks_settings(const LaunchPlan& plan) {
  return {"OMPI_MCA_btl_tcp_if_include=" + plan.network};
}

// Whether the launcher is Open MPI 5's (PRRTE), whose settings have other names.
bool is_prrte(const MpiLauncher& launcher) { return launcher.daemon.ends_with("/prted"); }

// Lifts the limit of concurrent shims, since each stays as long as its daemon.
constexpr const char* kManyShims = "1000000";

// The name of NAME=VALUE.
std::string variable_of(const std::string& word) { return word.substr(0, word.find('=')); }

// orted gets the settings on its command line, in words that the target's agent knows; settings for
// the launcher or the ranks travel in the environment (launch_settings).
Words openmpi_words(const LaunchPlan& plan) {
  Words words{"mpirun"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  add(words, {"--host", host_list(plan.addresses), "-n", fmt::format("{}", plan.addresses.size()),
              "--map-by", "slot"});
  if (plan.binding != "default") add(words, {"--bind-to", plan.binding});
  // The other node's shell finds the daemon and its libraries below the prefix.
  if (plan.mode == LaunchMode::kSsh && !plan.launcher.prefix.empty())
    add(words, {"--prefix", plan.launcher.prefix});
  if (is_prrte(plan.launcher)) {
    if (plan.mode == LaunchMode::kAgent)
      add(words, {"--prtemca", "plm_ssh_agent", plan.shim, "--prtemca", "plm_ssh_no_tree_spawn",
                  "1", "--prtemca", "plm_ssh_num_concurrent", kManyShims});
    add(words, {"--prtemca", "prte_if_include", plan.network});
  } else {
    if (plan.mode == LaunchMode::kAgent)
      add(words, {"--mca", "plm_rsh_agent", plan.shim, "--mca", "plm_rsh_no_tree_spawn", "1"});
    add(words, {"--mca", "oob_tcp_if_include", plan.network});
  }
  for (const std::string& word : ranks_settings(plan)) add(words, {"-x", variable_of(word)});
  for (const std::string& word : plan.handed_on) add(words, {"-x", variable_of(word)});
  return words;
}

// By default Hydra gives all ranks the launcher's whole environment, in place of their own nodes'
// folders and libraries. A remote shell's environment has none, so the default stays there.
Words hydra_environment(const LaunchPlan& plan) {
  if (plan.mode != LaunchMode::kAgent) return {};
  Words names;
  for (const std::string& word : plan.handed_on) names.push_back(variable_of(word));
  if (names.empty()) return {"-genvnone"};
  return {"-genvlist", fmt::format("{}", fmt::join(names, ","))};
}

// Hydra starts its proxies by the shim under an agent, else by ssh.
Words hydra_words(const LaunchPlan& plan) {
  Words words{"mpiexec"};
  if (plan.mode == LaunchMode::kAgent)
    add(words, {"-launcher", "rsh", "-launcher-exec", plan.shim});
  else
    add(words, {"-launcher", "ssh"});
  for (const std::string& word : hydra_environment(plan)) words.push_back(word);
  add(words, {"-iface", plan.interface, "-hosts", host_list(plan.addresses), "-n",
              fmt::format("{}", plan.addresses.size())});
  if (plan.binding != "default") add(words, {"-bind-to", plan.binding});
  return words;
}

// MVAPICH2's own launcher, which uses ssh only and passes only named variables to the ranks.
Words mpirun_rsh_words(const LaunchPlan& plan) {
  Words words{"mpirun_rsh", "-ssh", "-np", fmt::format("{}", plan.addresses.size())};
  words.insert(words.end(), plan.addresses.begin(), plan.addresses.end());
  words.insert(words.end(), plan.handed_on.begin(), plan.handed_on.end());
  return words;
}

// Returns Slurm's default names of nodes.
Words short_names(const Words& hosts) {
  Words out;
  for (const std::string& host : hosts) out.push_back(host.substr(0, host.find('.')));
  return out;
}

// srun starts the ranks itself. --overlap lets the step share the resources of the one that the
// task runs in; the file of hosts fixes the order of the ranks (--distribution=arbitrary).
Words slurm_words(const LaunchPlan& plan) {
  Words words{"srun",
              "--overlap",
              fmt::format("--nodes={}", counted(short_names(plan.hosts)).size()),
              fmt::format("--ntasks={}", plan.hosts.size()),
              "--distribution=arbitrary",
              plan.launcher.mpi == "openmpi" ? "--mpi=pmix" : "--mpi=pmi2"};
  if (plan.binding == "core") words.emplace_back("--cpu-bind=cores");
  if (plan.binding == "socket") words.emplace_back("--cpu-bind=sockets");
  if (plan.binding == "none") words.emplace_back("--cpu-bind=none");
  return words;
}

// The variables that a clean environment keeps.
constexpr std::array<std::string_view, 8> kPlain{"PATH", "HOME",   "USER",  "LOGNAME",
                                                 "LANG", "TMPDIR", "SHELL", "LD_LIBRARY_PATH"};

}  // namespace

// The words of the parameter `launch`.
Result<LaunchMode> launch_mode_of(const std::string& word) {
  if (word == "agent") return LaunchMode::kAgent;
  if (word == "ssh") return LaunchMode::kSsh;
  if (word == "slurm") return LaunchMode::kSlurm;
  return invalid("launch {} is not agent, ssh or slurm", in_quotes(word));
}

// The launcher's own words, then the ranks' program.
Words launch_words(const LaunchPlan& plan) {
  Words words;
  if (plan.mode == LaunchMode::kSlurm)
    words = slurm_words(plan);
  else if (is_mpirun_rsh(plan.launcher))
    words = mpirun_rsh_words(plan);
  else
    words = plan.launcher.mpi == "openmpi" ? openmpi_words(plan) : hydra_words(plan);
  words.insert(words.end(), plan.program.begin(), plan.program.end());
  return words;
}

// A node with two ranks has two lines.
std::string hosts_file_text(const LaunchPlan& plan) {
  return fmt::format("{}\n", fmt::join(short_names(plan.hosts), "\n"));
}

// The settings of the launcher itself and, for Open MPI, of its ranks.
Words launch_settings(const LaunchPlan& plan) {
  Words settings;
  if (plan.launcher.mpi == "openmpi") settings = ranks_settings(plan);
  if (plan.mode == LaunchMode::kSlurm) settings.push_back("SLURM_HOSTFILE=" + plan.hosts_file);
  if (plan.launcher.mpi != "openmpi" || plan.mode == LaunchMode::kSlurm || is_prrte(plan.launcher))
    return settings;
  // Without this setting the daemon's words would contain each of these.
  settings.emplace_back("OMPI_MCA_plm_rsh_pass_environ_mca_params=0");
  settings.push_back(fmt::format("OMPI_MCA_plm_rsh_num_concurrent={}", kManyShims));
  return settings;
}

// Only parameters that differ from their defaults, and `mpi`, which the ranks' program checks.
Words ranks_words(const MpiLauncher& launcher, const std::string& kernel, const Params& params,
                  const std::string& records_socket, double deadline_seconds, bool raw_samples) {
  Words words{launcher.ranks_program, kernel,       "--records-to",
              records_socket,         "--deadline", canonical_duration(deadline_seconds * 1e9)};
  if (raw_samples) words.emplace_back("--raw-samples");
  for (const auto& [name, value] : params.effective())
    if (!params.is_default(name) || name == "mpi")
      add(words, {"--set", fmt::format("{}={}", name, value)});
  return words;
}

void add_endpoints(LaunchPlan& plan) {
  const auto named = [](const std::string& endpoint) { return !endpoint.empty(); };
  if (std::ranges::any_of(plan.endpoints, named))
    add(plan.program, {"-d", fmt::format("{}", fmt::join(plan.endpoints, ","))});
}

// A PATH is always there, since MPI's own scripts need one.
Words clean_environment(const Words& environment, const MpiLauncher& launcher) {
  Words out;
  for (const std::string& word : environment) {
    const std::string name = variable_of(word);
    if (std::ranges::find(kPlain, name) != kPlain.end()) out.push_back(word);
  }
  add_unless_set(out, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
  return with_installation(std::move(out), launcher);
}

// Puts an installation's folders in front of the present ones. OPAL_PREFIX makes a moved Open MPI
// find its own files.
Words with_installation(Words environment, const MpiLauncher& launcher) {
  if (launcher.prefix.empty()) return environment;
  const auto put_first = [&](const std::string& name, const std::string& folders) {
    std::string value = folders;
    for (const std::string& word : environment)
      if (variable_of(word) == name && word.size() > name.size() + 1)
        value += ":" + word.substr(name.size() + 1);
    std::erase_if(environment, [&](const auto& word) { return variable_of(word) == name; });
    environment.push_back(name + "=" + value);
  };
  put_first("PATH", launcher.prefix + "/bin");
  put_first("LD_LIBRARY_PATH", launcher.library_folders);
  if (launcher.mpi == "openmpi") environment.push_back("OPAL_PREFIX=" + launcher.prefix);
  return environment;
}

// The variables that tune transports are the task's matter, so every node's ranks get them.
Words handed_on_variables(const Words& environment) {
  // Our own variables here are the libraries to load, and those of tests; the agent's settings
  // belong to its node.
  constexpr std::array<std::string_view, 6> kPrefixes{"UCX_",
                                                      "FI_",
                                                      "RAILGAUGE_LIB",
                                                      "RAILGAUGE_FAKE_",
                                                      "RAILGAUGE_FAILPOINT",
                                                      "RAILGAUGE_TESTING_"};
  Words out;
  for (const std::string& word : environment)
    if (std::ranges::any_of(
            kPrefixes, [&](const std::string_view prefix) { return word.starts_with(prefix); }))
      out.push_back(word);
  return out;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As environ(7) has them.
Words process_environment_words() {
  Words out;
  for (char** word = environ; *word != nullptr; ++word) out.emplace_back(*word);
  return out;
}

// Levels at which UCX and Open MPI print the transports once, at start-up, and nothing in the timed
// loop.
void add_transport_reporting(const std::string& mpi, bool is_tuned, Words& environment) {
  Words words{"UCX_LOG_LEVEL=info"};
  if (is_tuned) {
    words.emplace_back("UCX_WARN_UNUSED_ENV_VARS=y");
    std::erase_if(environment, [](const std::string& word) {
      return word.starts_with("UCX_LOG_LEVEL=") || word.starts_with("UCX_WARN_UNUSED_ENV_VARS=");
    });
  }
  if (mpi == "openmpi")
    add(words, {"OMPI_MCA_btl_base_verbose=10", "OMPI_MCA_opal_common_ofi_verbose=1"});
  for (const std::string& word : words) add_unless_set(environment, word);
}

void add_unless_set(Words& environment, const std::string& word) {
  const std::string name = variable_of(word) + "=";
  const auto sets = [&](const std::string& other) { return other.starts_with(name); };
  if (std::ranges::none_of(environment, sets)) environment.push_back(word);
}

// Each launcher prints its version in a form of its own; an unknown form yields its first line.
std::string launcher_version(const std::string& text) {
  const auto word_after = [&](std::string_view label) {
    const std::size_t at = text.find(label);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = text.find_first_not_of(" \t", at + label.size());
    if (begin == std::string::npos) return std::string();
    return text.substr(begin, text.find_first_of(" \t\r\n", begin) - begin);
  };
  // The output begins with the name by which the launcher was started.
  for (const char* label : {"(Open MPI) ", "(OpenRTE) "})
    if (const std::string version = word_after(label); !version.empty())
      return "Open MPI " + version;
  if (const std::string version = word_after("Version:"); !version.empty())
    return (version.starts_with("mvapich") ? "" : "Hydra ") + version;
  return valid_utf8(text.substr(0, text.find('\n')));
}

}  // namespace railgauge
