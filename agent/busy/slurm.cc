// Slurm's jobs as the node itself shows them; nobody asks the controller of the cluster, which ten
// thousand nodes would keep busy.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "agent/busy/readers.h"
#include "agent/inventory/files.h"
#include "agent/watch/counters.h"
#include "kernels/core/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 4096;  // of a folder
constexpr std::string_view kJob = "job_";
constexpr std::size_t kMostCgroupBytes = 64U << 10U;
constexpr std::size_t kMostEventsBytes = 4096;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == text.npos;
}

// What std::filesystem hides: whether a folder that is there can be read.
Result<std::vector<std::string>> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (names.size() == kMostEntries) break;
    names.push_back(it->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(Code::kPermissionDenied,
                fmt::format("{}: list: {}", folder.string(), error.message()));
  return names;
}

// A cgroup that says that nothing lives in it was left behind.
bool is_left_behind(const fs::path& cgroup) {
  std::istringstream events(small_file((cgroup / "cgroup.events").string(), kMostEventsBytes));
  std::string word;
  int populated = 1;
  while (events >> word)
    if (word == "populated") {
      events >> populated;
      break;
    }
  return populated == 0;
}

Status add_jobs(const fs::path& folder, JobView& view) {
  for (const std::string& name : RG_TRY(entries_of(folder)))
    if (name.starts_with(kJob) && is_number(std::string_view(name).substr(kJob.size())) &&
        !is_left_behind(folder / name))
      view.jobs.insert(name.substr(kJob.size()));
  return {};
}

// The unified tree: [NODENAME_]slurmstepd.scope/job_N, below system.slice or at the top.
Status add_unified(const fs::path& slice, JobView& view) {
  constexpr std::string_view kScope = "slurmstepd.scope";
  for (const std::string& name : RG_TRY(entries_of(slice))) {
    if (!name.ends_with(kScope)) continue;
    view.present = true;
    RG_TRY_OK(add_jobs(slice / name, view));
  }
  return {};
}

// A tree for each controller: slurm[_NODENAME]/uid_N/job_N.
Status add_divided(const fs::path& controller, JobView& view) {
  for (const std::string& name : RG_TRY(entries_of(controller))) {
    if (name != "slurm" && !name.starts_with("slurm_")) continue;
    view.present = true;
    for (const std::string& user : RG_TRY(entries_of(controller / name)))
      if (user.starts_with("uid_")) RG_TRY_OK(add_jobs(controller / name / user, view));
  }
  return {};
}

Status add_markers(const std::string& folder, JobView& view) {
  std::error_code ignored;
  if (folder.empty() || !fs::exists(folder, ignored)) return {};
  view.present = true;
  for (const std::string& name : RG_TRY(entries_of(folder)))
    if (!name.starts_with('.')) view.jobs.insert(one_line(name));
  return {};
}
}  // namespace

std::set<std::string> jobs_in_cgroup_paths(std::string_view text) {
  std::set<std::string> jobs;
  for (std::size_t at = text.find("/job_"); at != text.npos; at = text.find("/job_", at + 1)) {
    const std::string_view rest = text.substr(at + 1 + kJob.size());
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
    const char after = number.size() < rest.size() ? rest[number.size()] : '\n';
    // Not of a container or a user who calls something "job_1": only below Slurm's own.
    const std::string_view line = text.substr(0, at).substr(text.substr(0, at).rfind('\n') + 1);
    if (is_number(number) && (after == '/' || after == '\n') && line.find("slurm") != line.npos)
      jobs.insert(std::string(number));
  }
  return jobs;
}

Result<JobView> read_slurm_jobs(const std::string& cgroup_root, const std::string& marker_folder,
                                const std::string& proc_root) {
  JobView view;
  const fs::path root = cgroup_root;
  RG_TRY_OK(add_unified(root / "system.slice", view));
  RG_TRY_OK(add_unified(root, view));
  for (const char* controller : {"freezer", "memory", "cpuset", "devices", "cpu,cpuacct"})
    RG_TRY_OK(add_divided(root / controller, view));
  RG_TRY_OK(add_markers(marker_folder, view));
  std::ifstream self(proc_root + "/self/cgroup");
  std::string text(kMostCgroupBytes, '\0');
  self.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(self.gcount(), 0)));
  view.ours = jobs_in_cgroup_paths(text);
  return view;
}

}  // namespace railgauge::agent
