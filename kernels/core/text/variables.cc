#include "kernels/core/text/variables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::string_view kBegin = "RAILGAUGE_";
// Without that beginning, which makes any two alike. A host's shell may have those of all programs.
// Tests compare them with the flags of the CLI and with the pages of settings.
constexpr std::string_view kVariables =
    "ACKNOWLEDGE ADVERTISE ARCHIVE AUDIT_LOG BACKUP_EVERY BACKUP_FOLDER BACKUP_KEEP "
    "BUSY_GPU_PERCENT BUSY_HOOK "
    "BUSY_JOBS_FOLDER BUSY_KUBELET_SOCKET BUSY_LOAD_PER_CPU BUSY_MARKER BUSY_OWN_POD "
    "BUSY_SETTLE_SECONDS BUSY_SOURCES CERTIFICATE_KEY CHAT_FORMAT CHAT_URL CHECK_CONFIG "
    "CONFIG CONSOLE_LISTEN CONSOLE_OPERATORS CONSOLE_WEB_CONFIG_FILE CONTROLLER DATABASE "
    "DATA_ADDRESS "
    "ENROLL_DAYS ENROLL_LISTEN ENROLL_PKI FORMAT INSECURE INVENTORY KEEP_AUDIT "
    "KEEP_DISTRIBUTIONS KEEP_POINTS KEEP_RAW_SAMPLES "
    "LABELS LABELS_FILE LEASE_SECONDS LIBCUDA LIBEFA LIBGDRAPI LIBHIP LIBIBVERBS LIBMLX5 LIBNCCL "
    "LIBNVML "
    "LIBPQ LIBRDMACM "
    "LIBVULKAN "
    "LISTEN LOG_FORMAT LOG_LEVEL MAIL_FROM MAIL_TO METRICS_LISTEN "
    "MIRROR MIRROR_KEEP_POINTS MPI_INSTALLATIONS NAME PROC_ROOT RENEW_FROM REPORT_TEMPLATE_FILE "
    "RUNNER RUNNER_CORE_MIB "
    "RUNNER_ENVIRONMENT RUNNER_FILE_GIB RUNNER_LANDLOCK SENDMAIL SIMULATED_CLOCK "
    "SITE SITE_PROFILE SOCKET SOCKET_GROUP SPOOL_KEEP_HOURS STANDBY STATE_DIR SUITES SYNTHETIC "
    "SYSFS_ROOT "
    "TIMEOUT TLS_CA TLS_CERT TLS_CRL TLS_KEY UNITS UPGRADE_POLICY UPGRADE_WINDOW "
    "WATCH_KERNEL_LOG WATCH_SECONDS WEBHOOK_CA_FILE WEBHOOK_FORMAT WEBHOOK_SECRET_FILE "
    "WEBHOOK_URL WEB_CONFIG_FILE";
// Beginnings of those of builds, tests, comparisons, vendor libraries and hooks, of what an agent
// hands to its runner, and of those that Kubernetes writes for a service named
// railgauge-controller.
constexpr std::array<std::string_view, 28> kToolBeginnings{
    "AGENT_STATE", "CONTROLLER_PORT", "CONTROLLER_SERVICE_",
    "VERDICT",     "BUILD_",          "CHAOS_",
    "CHECK_",      "COMPARE_",        "FAILPOINT",
    "FAKE_",       "FAULT",           "FUZZ_",
    "LAUNCH",      "LOG_SUBJECT",     "DEBIAN_MIRROR",
    "NVCC",        "PERFTEST",        "RSH_",
    "SANITIZE",    "SERIES_",         "SLURM_",
    "STALL_",      "STORAGE",         "TEST",
    "UNITY",       "UPDATE_GOLDEN",   "VFABRIC",
    "WERROR"};

}  // namespace

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

std::vector<std::string> unknown_variables(std::span<const std::string> names) {
  std::vector<std::string> known;
  for (const std::string_view word : words_of(kVariables)) known.emplace_back(word);
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (!name.starts_with(kBegin)) continue;
    const std::string word = name.substr(kBegin.size());
    const bool is_tools =
        std::ranges::any_of(kToolBeginnings, [&](auto begin) { return word.starts_with(begin); });
    if (is_tools || std::ranges::find(known, word) != known.end()) continue;
    std::string hint = did_you_mean(word, known);
    if (const std::size_t quote = hint.find('"'); quote != std::string::npos)
      hint.insert(quote + 1, kBegin);
    lines.push_back(fmt::format("variable {}: no program of Railgauge reads it{}", name, hint));
  }
  return lines;
}

}  // namespace railgauge
