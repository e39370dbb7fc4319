#include "kernels/runner/mpi_words.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text.h"
#include "kernels/core/units.h"
#include "kernels/launch/wire.h"

namespace railgauge {
namespace {

using Words = std::vector<std::string>;

void add(Words& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
}

// Each node once, in the order of the ranks, with how many ranks it has.
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

std::string host_list(const Words& nodes) {
  Words out;
  for (const auto& [node, ranks] : counted(nodes)) out.push_back(fmt::format("{}:{}", node, ranks));
  return fmt::format("{}", fmt::join(out, ","));
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// What Open MPI's ranks get: the network, and that they tell which of their transports they use
// when they connect.
Words ranks_settings(const LaunchPlan& plan) {
  return {"OMPI_MCA_btl_tcp_if_include=" + plan.network, "OMPI_MCA_btl_base_verbose=10"};
}

std::string variable_of(const std::string& word) { return word.substr(0, word.find('=')); }

// orted gets what stands on the command line, in words that the target's agent knows; what is for
// the launcher or the ranks goes by the environment (launch_settings).
Words openmpi_words(const LaunchPlan& plan) {
  Words words{"mpirun"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  add(words, {"--host", host_list(plan.addresses), "-n", fmt::format("{}", plan.addresses.size()),
              "--map-by", "slot"});
  if (plan.binding != "default") add(words, {"--bind-to", plan.binding});
  if (plan.mode == LaunchMode::kAgent)
    add(words, {"--mca", "plm_rsh_agent", plan.shim, "--mca", "plm_rsh_no_tree_spawn", "1"});
  add(words, {"--mca", "oob_tcp_if_include", plan.network});
  for (const std::string& word : ranks_settings(plan)) add(words, {"-x", variable_of(word)});
  for (const std::string& word : plan.handed_on) add(words, {"-x", variable_of(word)});
  return words;
}

Words hydra_words(const LaunchPlan& plan) {
  Words words{"mpiexec"};
  if (plan.mode == LaunchMode::kAgent)
    add(words, {"-launcher", "rsh", "-launcher-exec", plan.shim});
  else
    add(words, {"-launcher", "ssh"});
  add(words, {"-iface", plan.interface, "-hosts", host_list(plan.addresses), "-n",
              fmt::format("{}", plan.addresses.size())});
  if (plan.binding != "default") add(words, {"-bind-to", plan.binding});
  return words;
}

// MVAPICH2's own, which knows ssh alone and gives ranks no variable that is not named.
Words mpirun_rsh_words(const LaunchPlan& plan) {
  Words words{"mpirun_rsh", "-ssh", "-np", fmt::format("{}", plan.addresses.size())};
  words.insert(words.end(), plan.addresses.begin(), plan.addresses.end());
  words.insert(words.end(), plan.handed_on.begin(), plan.handed_on.end());
  return words;
}

// As Slurm calls nodes where nothing else is configured.
Words short_names(const Words& hosts) {
  Words out;
  for (const std::string& host : hosts) out.push_back(host.substr(0, host.find('.')));
  return out;
}

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

constexpr std::array<std::string_view, 8> kPlain{"PATH", "HOME",   "USER",  "LOGNAME",
                                                 "LANG", "TMPDIR", "SHELL", "LD_LIBRARY_PATH"};

}  // namespace

Result<LaunchMode> launch_mode_of(const std::string& word) {
  if (word == "agent") return LaunchMode::kAgent;
  if (word == "ssh") return LaunchMode::kSsh;
  if (word == "slurm") return LaunchMode::kSlurm;
  return fail(Code::kInvalidArgument,
              fmt::format("launch {} is not agent, ssh or slurm", in_quotes(word)));
}

Words launch_words(const LaunchPlan& plan) {
  Words words;
  if (plan.mode == LaunchMode::kSlurm)
    words = slurm_words(plan);
  else if (name_of(plan.launcher.program) == "mpirun_rsh")
    words = mpirun_rsh_words(plan);
  else
    words = plan.launcher.mpi == "openmpi" ? openmpi_words(plan) : hydra_words(plan);
  words.insert(words.end(), plan.program.begin(), plan.program.end());
  return words;
}

std::string hosts_file_text(const LaunchPlan& plan) {
  return fmt::format("{}\n", fmt::join(short_names(plan.hosts), "\n"));
}

Words launch_settings(const LaunchPlan& plan) {
  Words settings;
  if (plan.launcher.mpi == "openmpi") settings = ranks_settings(plan);
  if (plan.mode == LaunchMode::kSlurm) settings.push_back("SLURM_HOSTFILE=" + plan.hosts_file);
  if (plan.launcher.mpi != "openmpi" || plan.mode == LaunchMode::kSlurm) return settings;
  // Else each of these would stand in the daemon's words.
  settings.emplace_back("OMPI_MCA_plm_rsh_pass_environ_mca_params=0");
  // The shim stays as long as its daemon: no limit on how many at once.
  settings.emplace_back("OMPI_MCA_plm_rsh_num_concurrent=1000000");
  return settings;
}

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

Words clean_environment(const Words& environment, const std::string& library_folder) {
  Words out;
  std::string libraries = library_folder;
  bool has_path = false;
  for (const std::string& word : environment) {
    const std::string name = variable_of(word);
    if (std::ranges::find(kPlain, name) == kPlain.end()) continue;
    has_path = has_path || name == "PATH";
    if (name != "LD_LIBRARY_PATH")
      out.push_back(word);
    else if (word.size() > name.size() + 1)
      libraries += (libraries.empty() ? "" : ":") + word.substr(name.size() + 1);
  }
  if (!has_path) out.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
  if (!libraries.empty()) out.push_back("LD_LIBRARY_PATH=" + libraries);
  return out;
}

Words handed_on_variables(const Words& environment) {
  Words out;
  for (const std::string& word : environment) {
    const std::string name = variable_of(word);
    if (name.starts_with("UCX_") || name.starts_with("FI_") ||
        (name.starts_with("RAILGAUGE_") && name != launch::kSocketVariable))
      out.push_back(word);
  }
  return out;
}

Words process_environment_words() {
  Words out;
  for (char** word = environ; *word != nullptr; ++word) out.emplace_back(*word);
  return out;
}

std::string launcher_version(const std::string& text) {
  const auto word_after = [&](std::string_view label) {
    const std::size_t at = text.find(label);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = text.find_first_not_of(" \t", at + label.size());
    if (begin == std::string::npos) return std::string();
    return text.substr(begin, text.find_first_of(" \t\r\n", begin) - begin);
  };
  // It calls itself by the name that it was started by.
  for (const char* label : {"(Open MPI) ", "(OpenRTE) "})
    if (const std::string version = word_after(label); !version.empty())
      return "Open MPI " + version;
  if (const std::string version = word_after("Version:"); !version.empty())
    return "Hydra " + version;
  return valid_utf8(text.substr(0, text.find('\n')));
}

}  // namespace railgauge
