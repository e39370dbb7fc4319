// The table of settings, the environment in which NCCL is loaded, and the memory file that receives
// its debug output.
#include "kernels/nccl/communicator/environment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/nccl_conf.h"
#include "kernels/core/nccl_settings.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/nccl.h"
#include "kernels/nccl/communicator/log.h"

namespace railgauge::nccl {
namespace {

// Bounds, in bytes: a fact of a result, and the debug output that one look reads.
constexpr std::size_t kMaxFactBytes = 1000;
constexpr std::size_t kMaxLog = 4U << 20U;
// The subsystems whose lines parse_log() reads; TUNING adds a line for each call.
constexpr const char* kSubsystems = "INIT,ENV,NET,GRAPH,P2P,SHM,NVLS";
constexpr const char* kWithChoices = "INIT,ENV,NET,GRAPH,P2P,SHM,NVLS,TUNING";

// The value set for the row: "1", or nothing.
std::string value_of(const Params& params, const NcclSetting& row) {
  return row.value(params.effective().at(row.parameter));
}

// The variables whose names begin with `library`, as NAME=VALUE, sorted.
std::vector<std::string> variables_of(std::string_view library) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (std::string_view(*entry).starts_with(library)) all.emplace_back(*entry);
  std::ranges::sort(all);
  return all;
}
std::string name_of(const std::string& entry) { return entry.substr(0, entry.find('=')); }

// The destination of NCCL's output: memory private to this process, under a name that only it can
// open. It has no file in any folder, so none is left however the process ends.
struct Output {
  bool decided = false;
  std::string refused;  // why there is none
  std::string sites;    // what the site has of level and subsystems: "NCCL_DEBUG=WARN"
  Fd memory;
  std::string path;
};
// Never destroyed: NCCL's threads may write while the process ends.
Output& output() {
  static auto* made = new Output;
  return *made;
}

// "" where it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : valid_utf8(value);
}

// Once a process, before the first load of NCCL: the library opens its file once.
void decide_output() {
  Output& made = output();
  if (made.decided) return;
  made.decided = true;
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS"})
    if (const std::string value = variable(name); !value.empty())
      made.sites += fmt::format("{}{}={}", made.sites.empty() ? "" : " ", name, value);
  if (const std::string file = variable("NCCL_DEBUG_FILE"); !file.empty()) {
    made.refused = fmt::format("NCCL_DEBUG_FILE={} was set", file);
    return;
  }
  // Anonymous memory: nothing is left in a folder however the process ends.
  made.memory = Fd(memfd_create("railgauge-nccl", MFD_CLOEXEC));
  if (made.memory && fchmod(made.memory.get(), S_IRUSR | S_IWUSR) == 0)
    made.path = fmt::format("/proc/self/fd/{}", made.memory.get());
  // As NCCL will: a process that may not be traced does not own its own descriptors' names.
  if (made.path.empty() || !Fd(open(made.path.c_str(), O_WRONLY | O_CLOEXEC))) {
    made.path.clear();
    made.refused = fmt::format("memory for its output cannot be opened by its name: {} (errno {})",
                               std::strerror(errno), errno);
  }
}

// Sets the output also with `environment=clean`, and in place of the site's level, because NCCL's
// output level does not change its work. Only a site that names a file gets the output there.
void set_output() {
  decide_output();
  if (output().path.empty()) return;
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", kSubsystems, 1);
  setenv("NCCL_DEBUG_FILE", output().path.c_str(), 1);
}

// One fact of several parts, cut at kMaxFactBytes.
std::string joined(const std::vector<std::string>& parts) {
  std::string all = fmt::format("{}", fmt::join(parts, " "));
  if (all.size() > kMaxFactBytes) all = all.substr(0, kMaxFactBytes) + "...";
  return valid_utf8(all);
}

// Returns "none" for an empty list: an absent fact would mean that nothing was read.
std::string or_none(const std::vector<std::string>& parts) {
  return parts.empty() ? "none" : joined(parts);
}

// Returns the settings of one nccl.conf; NCCL uses the ones that the environment does not set.
std::string conf_text(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("NCCL_")) lines.push_back(line);
  return lines.empty() ? "" : path + ": " + joined(lines);
}

// The fact nccl_conf, and a warning where a clean environment is asked for: NCCL reads the files in
// any case, and no variable turns that off.
void tell_conf(Context& context, bool clean) {
  const std::vector<std::string> files = nccl_conf_files();
  std::vector<std::string> found;
  for (const std::string& file : files)
    if (const std::string text = conf_text(file); !text.empty()) found.push_back(text);
  context.reporter.fact("nccl_conf", or_none(found));
  if (clean && !found.empty())
    context.reporter.note("warning", "environment clean: NCCL still reads " + joined(found) +
                                         "; move the file away for a clean figure");
}

// Puts the declared settings into the environment and returns the node's own settings that they
// replace.
void set_declared(Context& context) {
  std::vector<std::string> replaced;
  for (const NcclSetting& row : kNcclSettings) {
    const std::string value = value_of(context.params, row);
    if (value.empty()) continue;
    if (const std::string own = nccl_setting_in_force(row.variable); !own.empty() && own != value)
      replaced.push_back(fmt::format("{}={}", row.variable, own));
    setenv(row.variable, value.c_str(), 1);
  }
  if (!replaced.empty()) context.reporter.fact("nccl_environment_replaced", joined(replaced));
}

// Adds the fact nccl_net_gdr_level in NCCL's own words; nothing when no level is set.
void tell_gdr_level(Context& context) {
  const std::string level = nccl_setting_in_force("NCCL_NET_GDR_LEVEL");
  if (level.empty()) return;
  const std::string words = gdr_level_in_words(level);
  context.reporter.fact(
      "nccl_net_gdr_level",
      words.empty() ? fmt::format("{}: no level that NCCL knows", valid_utf8(level)) : words);
}

// A blank would end the value in nccl.conf's syntax and in messages.
Status check_texts(const Params& params) {
  for (const NcclSetting& row : kNcclSettings) {
    if (row.kind != NcclSetting::kText) continue;
    const std::string& text = params.text(row.parameter);
    const auto odd = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    if (std::ranges::any_of(text, odd))
      return invalid("parameter {}: {} has a blank in it", row.parameter, in_quotes(text));
  }
  return {};
}

// All settings as one text, for the comparison with an earlier task of this process.
std::string signature_of(const Params& params) {
  std::string all = params.text("environment");
  for (const NcclSetting& row : kNcclSettings)
    all += fmt::format(" {}={}", row.variable, value_of(params, row));
  return all;
}

}  // namespace

// Each row of the table becomes a parameter of its kind.
void add_environment_parameters(InfoBuilder& builder) {
  builder
      .choice("environment", "",
              "NCCL's settings: the site's (environment and nccl.conf), or clean (none)",
              {kSite, "clean"})
      .identity();
  for (const NcclSetting& row : kNcclSettings) {
    const std::string summary = fmt::format("{}: {}", row.variable, row.summary);
    const std::int64_t lowest = parse_integer(row.unset).value_or(0);
    if (row.kind == NcclSetting::kFlag)
      builder.choice(row.parameter, "", summary, {kSite, "false", "true"});
    else if (row.kind == NcclSetting::kLevel)
      builder.choice(row.parameter, "", summary, {kSite, "LOC", "PIX", "PXB", "PHB", "SYS"});
    else if (row.kind == NcclSetting::kNumber)
      builder.integer(row.parameter, summary, lowest, static_cast<double>(lowest), row.highest);
    else
      builder.text(row.parameter, summary, "");
    builder.identity();
  }
}

// The order matters: a clean environment loses the site's variables before the task's are set, and
// the facts are read at the end, as NCCL will find them.
Status apply_environment(Context& context) {
  const Params& params = context.params;
  RG_TRY_OK(check_texts(params));
  const bool clean = params.text("environment") == "clean";
  if (clean)
    for (const std::string& entry : variables_of("NCCL_")) unsetenv(name_of(entry).c_str());
  set_declared(context);
  set_output();
  // The facts list what NCCL finds, except our own redirection of its output.
  std::vector<std::string> told = variables_of("NCCL_");
  if (DebugOutput::not_ours().empty())
    std::erase_if(told, [](const std::string& entry) { return entry.starts_with("NCCL_DEBUG"); });
  context.reporter.fact("nccl_environment", or_none(told));
  context.reporter.fact("cuda_environment", or_none(variables_of("CUDA_")));
  if (const std::string why = DebugOutput::not_ours(); !why.empty())
    context.reporter.fact("nccl_transports", "not told: " + why);
  else if (!output().sites.empty())
    context.reporter.fact("nccl_debug", output().sites + " at the site, INFO for this task");
  tell_conf(context, clean);
  tell_gdr_level(context);
  return {};
}

// The first task's settings are remembered for the process's life. The fake library reads none.
Status check_environment(const Params& params, bool synthetic) {
  static std::string first;
  const std::string now = signature_of(params);
  if (first.empty()) first = now;
  if (synthetic || first == now) return {};
  return fail(
      Code::kFailedPrecondition,
      "NCCL: it has read other settings for an earlier task of this process, and reads them "
      "once; run this task in a process of its own");
}

Status check_override(const std::string& variable, std::string_view wanted) {
  const std::string value = nccl_setting_in_force(variable);
  if (value.empty() || value == wanted) return {};
  return fail(Code::kFailedPrecondition,
              "NCCL: {}={} is set here and wins over the task's parameter; unset it, also in "
              "nccl.conf",
              variable, valid_utf8(value));
}

std::string DebugOutput::not_ours() { return output().refused; }

// The size of the file so far is where this task's output begins.
void DebugOutput::begin() {
  struct stat file {};
  const bool there = !output().path.empty() && fstat(output().memory.get(), &file) == 0;
  offset_ = there ? static_cast<std::uint64_t>(file.st_size) : 0;
}

// pread leaves the file's own offset alone, which NCCL's writes use.
std::string DebugOutput::read_new() {
  std::string text;
  if (output().path.empty()) return text;
  const int memory = output().memory.get();
  std::array<char, 16384> part{};
  while (text.size() < kMaxLog) {
    const ssize_t got = pread(memory, part.data(), part.size(), static_cast<off_t>(offset_));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
    offset_ += static_cast<std::uint64_t>(got);
  }
  return text;
}

// ncclResetDebugInit() makes NCCL read its debug variables again.
bool DebugOutput::report_choices(bool on) {
  const Nccl& nccl = loaded_nccl();
  if (output().path.empty() || nccl.reset_debug_init == nullptr) return false;
  setenv("NCCL_DEBUG_SUBSYS", on ? kWithChoices : kSubsystems, 1);
  nccl.reset_debug_init();  // at its next line it opens the file anew and empties it
  if (ftruncate(output().memory.get(), 0) != 0) return false;
  offset_ = 0;
  return true;
}

}  // namespace railgauge::nccl
