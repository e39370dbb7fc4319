// The list of variables has what our kernels, profiles and tests read, and what the libraries read
// that they load.
#include "agent/os/confinement.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "kernels/core/base/landlock.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::array<std::string_view, 14> kNames{
    "PATH",         "HOME",         "USER",         "LOGNAME",      "SHELL",
    "LANG",         "LANGUAGE",     "TZ",           "TMPDIR",       "LD_LIBRARY_PATH",
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};

// Ours are the libraries to load, the launchers, what the agent hands on, and those of tests.
constexpr std::array kBeginnings = std::to_array<std::string_view>({"LC_",
                                                                    "CUDA_",
                                                                    "NVIDIA_",
                                                                    "NVSHMEM_",
                                                                    "NCCL_",
                                                                    "RCCL_",
                                                                    "UCX_",
                                                                    "UCC_",
                                                                    "HCOLL_",
                                                                    "SHARP_",
                                                                    "OMPI_",
                                                                    "OPAL_",
                                                                    "PMIX_",
                                                                    "PRTE_",
                                                                    "PMI_",
                                                                    "PMI2_",
                                                                    "MPICH_",
                                                                    "MPIR_",
                                                                    "MPIEXEC_",
                                                                    "HYDRA_",
                                                                    "MV2_",
                                                                    "FI_",
                                                                    "IBV_",
                                                                    "RDMAV_",
                                                                    "MLX4_",
                                                                    "MLX5_",
                                                                    "EFA_",
                                                                    "HSA_",
                                                                    "ROCR_",
                                                                    "HIP_",
                                                                    "VK_",
                                                                    "HWLOC_",
                                                                    "SLURM_",
                                                                    "RAILGAUGE_LIB",
                                                                    "RAILGAUGE_FAKE_",
                                                                    "RAILGAUGE_FAILPOINT",
                                                                    "RAILGAUGE_TESTING_",
                                                                    "RAILGAUGE_LAUNCHER_",
                                                                    "RAILGAUGE_MPI_INSTALLATIONS",
                                                                    "RAILGAUGE_DATA_ADDRESS",
                                                                    "RAILGAUGE_LOG_FORMAT",
                                                                    "RAILGAUGE_LOG_SUBJECT"});

// Parts of names that say that the value is a secret, such as SLURM_JWT and NCCL_AUTH_TOKEN.
constexpr std::array<std::string_view, 7> kSecrets{"TOKEN",      "SECRET",  "PASSWORD", "PASSWD",
                                                   "CREDENTIAL", "PRIVATE", "JWT"};

constexpr std::string_view kOwn = "RAILGAUGE_";
constexpr double kMillisecondsASecond = 1000;

bool is_secret(std::string_view name) {
  return name.ends_with("_KEY") || std::ranges::any_of(kSecrets, [&](std::string_view part) {
           return name.find(part) != std::string_view::npos;
         });
}

bool is_listed(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kBeginnings,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_variable(std::string_view name) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view kDigits = "0123456789";
  return !name.empty() && kLetters.find(name.front()) != std::string_view::npos &&
         std::ranges::all_of(name, [&](char c) {
           return kLetters.find(c) != std::string_view::npos ||
                  kDigits.find(c) != std::string_view::npos;
         });
}

}  // namespace

std::vector<std::string> kept_words(const Confinement& confinement,
                                    const std::vector<std::string>& words, double grace_seconds) {
  std::vector<std::string> kept{confinement.keeper, "--keep", std::to_string(::getpid()),
                                fmt::format("{:.0f}", grace_seconds * kMillisecondsASecond),
                                "--confine"};
  const auto add = [&](const char* option, std::string value) {
    kept.emplace_back(option);
    kept.push_back(std::move(value));
  };
  if (!confinement.landlock) add("--landlock", "off");
  for (const std::string& path : confinement.hidden) add("--hide", path);
  add("--limit", fmt::format("core={}", confinement.core_bytes));
  add("--limit", fmt::format("file={}", confinement.file_bytes));
  add("--limit", fmt::format("descriptors={}", confinement.descriptors));
  add("--limit", fmt::format("processes={}", confinement.processes));
  kept.push_back(words.front());
  kept.insert(kept.end(), words.begin(), words.end());
  return kept;
}

std::vector<std::string> runner_environment(const std::vector<std::string>& environment,
                                            const std::vector<std::string>& more) {
  std::vector<std::string> kept;
  for (const std::string& word : environment) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_asked = std::ranges::any_of(
        more, [&](const std::string& pattern) { return matches(name, pattern); });
    const bool is_ours = name.starts_with(kOwn) && !is_listed(name);
    const bool is_named = std::ranges::find(more, name) != more.end();
    if (is_ours || (is_secret(name) && !is_named)) continue;
    if (is_listed(name) || is_asked) kept.push_back(word);
  }
  return kept;
}

Result<std::vector<std::string>> read_variables(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view name = trimmed(part);
    if (name.empty()) continue;
    const std::string_view stem = name.ends_with('*') ? name.substr(0, name.size() - 1) : name;
    if (!is_variable(stem))
      return invalid("--runner-environment: {} is no name of a variable, nor one with * at its end",
                     in_quotes(std::string(name)));
    if (stem.starts_with(kOwn) && !is_listed(stem))
      return invalid("--runner-environment: {} is the agent's own setting",
                     in_quotes(std::string(name)));
    names.emplace_back(name);
  }
  return names;
}

std::string describe_confinement(const Confinement& confinement, int landlock_version) {
  if (!confinement.landlock)
    return "off: --runner-landlock is false, so a runner can read the agent's key and state";
  if (landlock_version == 0)
    return "none: this kernel has no Landlock, so a runner can read the agent's key and state";
  if (landlock_version < kLandlockOfSignals)
    return fmt::format("landlock {}: files; a runner can send signals to the agent",
                       landlock_version);
  return fmt::format("landlock {}: files and signals", landlock_version);
}

}  // namespace railgauge::agent
