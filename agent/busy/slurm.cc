// Slurm's jobs, read from the node itself. The cluster's controller is not asked: ten thousand
// nodes would overload it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "agent/busy/readers.h"
#include "agent/inventory/facts/files.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 65'536;  // of a folder
constexpr std::string_view kJob = "job_";
constexpr std::string_view kScope = "slurmstepd.scope";
constexpr std::string_view kNoJob = "system";  // slurmstepd's own place in its scope
constexpr int kSliceLevels = 2;                // "a-b.slice" is in a.slice
constexpr std::size_t kMostCgroupBytes = 64U << 10U;
constexpr std::size_t kMostEventsBytes = 4096;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == text.npos;
}

struct Entry {
  std::string name;
  bool is_folder = false;
};

// Lists a folder; a missing one is empty. An error while the folder is read fails the whole list.
Result<std::vector<Entry>> entries_of(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (entries.size() == kMostEntries)
      return fail(Code::kResourceExhausted,
                  fmt::format("{}: list: more than {} entries", folder.string(), kMostEntries));
    std::error_code unseen;
    entries.push_back({it->path().filename().string(), it->is_directory(unseen)});
    if (unseen && unseen != std::errc::no_such_file_or_directory)
      return fail(Code::kPermissionDenied,
                  fmt::format("{}: look at it: {}", it->path().string(), unseen.message()));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(Code::kPermissionDenied,
                fmt::format("{}: list: {}", folder.string(), error.message()));
  return entries;
}

// Whether the cgroup reports that it has no process. Without such a report it counts as in use.
bool is_left_behind(const fs::path& cgroup) {
  std::istringstream events(small_file((cgroup / "cgroup.events").string(), kMostEventsBytes));
  for (std::string word; events >> word;)
    if (word == "populated") return events >> word && word == "0";
  return false;
}

// "42" of "job_42". Slurm 26.05 and later call a job's folder by its SLUID unless CgroupJobIdPaths
// is set: then that is the name.
std::string job_of_folder(std::string_view name) {
  const bool by_number = name.starts_with(kJob) && is_number(name.substr(kJob.size()));
  return one_line(by_number ? name.substr(kJob.size()) : name);
}

// Adds every folder of a scope as a job, whatever its name: an unknown form must not look like an
// idle node.
Status add_scope(const fs::path& scope, JobView& view) {
  view.present = true;
  for (const Entry& entry : RG_TRY(entries_of(scope)))
    if (entry.is_folder && entry.name != kNoJob && !is_left_behind(scope / entry.name))
      view.jobs.insert(job_of_folder(entry.name));
  return {};
}

// The unified tree: [NODENAME_]slurmstepd.scope at the top or in a slice, which is system.slice
// unless cgroup.conf's CgroupSlice names another.
Status add_unified(const fs::path& tree, int slice_levels, JobView& view) {
  for (const Entry& entry : RG_TRY(entries_of(tree))) {
    if (entry.name.ends_with(kScope))
      RG_TRY_OK(add_scope(tree / entry.name, view));
    else if (slice_levels > 0 && entry.is_folder && entry.name.ends_with(".slice"))
      RG_TRY_OK(add_unified(tree / entry.name, slice_levels - 1, view));
  }
  return {};
}

// A tree for each controller: slurm[_NODENAME]/uid_N/job_N.
Status add_divided(const fs::path& controller, JobView& view) {
  for (const Entry& entry : RG_TRY(entries_of(controller))) {
    if (entry.name != "slurm" && !entry.name.starts_with("slurm_")) continue;
    view.present = true;
    const fs::path slurm = controller / entry.name;
    for (const Entry& user : RG_TRY(entries_of(slurm))) {
      if (!user.name.starts_with("uid_")) continue;
      for (const Entry& job : RG_TRY(entries_of(slurm / user.name)))
        if (job.name.starts_with(kJob) && !is_left_behind(slurm / user.name / job.name))
          view.jobs.insert(job_of_folder(job.name));
    }
  }
  return {};
}

// Adds the jobs of the marker folder. A missing folder has none; an unreadable one is an error, and
// so is one that everybody may write, where any user could mark a job or hide one.
Status add_markers(const std::string& folder, JobView& view) {
  if (folder.empty()) return {};
  std::error_code error;
  const fs::file_status facts = fs::status(folder, error);
  const fs::file_type type = facts.type();
  if (type == fs::file_type::not_found) return {};
  if (type != fs::file_type::directory)
    return fail(Code::kPermissionDenied,
                fmt::format("{}: look for jobs' files: {}", folder,
                            error ? error.message() : std::string("it is no folder")));
  if ((facts.permissions() & fs::perms::others_write) != fs::perms::none)
    return fail(Code::kPermissionDenied,
                fmt::format("{}: look for jobs' files: everybody may write this folder; "
                            "chown root, chmod 0755",
                            folder));
  view.present = true;
  for (const Entry& entry : RG_TRY(entries_of(folder)))
    if (!entry.name.starts_with('.')) view.jobs.insert(one_line(entry.name));
  return {};
}

// Components behind slurmstepd's scope: "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0".
void add_jobs_below_scope(std::string_view text, std::set<std::string>& jobs) {
  for (std::size_t at = text.find(kScope); at != text.npos; at = text.find(kScope, at + 1)) {
    std::string_view rest = text.substr(at + kScope.size());
    if (!rest.starts_with('/')) continue;
    rest.remove_prefix(1);
    const std::string_view name = rest.substr(0, rest.find_first_of("/\n"));
    if (!name.empty() && name != kNoJob) jobs.insert(job_of_folder(name));
  }
}
}  // namespace

std::set<std::string> jobs_in_cgroup_paths(std::string_view text) {
  std::set<std::string> jobs;
  for (std::size_t at = text.find("/job_"); at != text.npos; at = text.find("/job_", at + 1)) {
    const std::string_view rest = text.substr(at + 1 + kJob.size());
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
    const char after = number.size() < rest.size() ? rest[number.size()] : '\n';
    // Only below Slurm's own cgroups: a container or a user may use the name "job_1" too.
    const std::string_view line = text.substr(0, at).substr(text.substr(0, at).rfind('\n') + 1);
    if (is_number(number) && (after == '/' || after == '\n') && line.find("slurm") != line.npos)
      jobs.insert(std::string(number));
  }
  add_jobs_below_scope(text, jobs);
  return jobs;
}

Result<JobView> read_slurm_jobs(const std::string& cgroup_root, const std::string& marker_folder,
                                const std::string& proc_root) {
  JobView view;
  const fs::path root = cgroup_root;
  for (const fs::path& tree : {root, root / "unified"})  // the second where both generations are on
    RG_TRY_OK(add_unified(tree, kSliceLevels, view));
  for (const char* controller : {"freezer", "memory", "cpuset", "devices", "cpu,cpuacct"})
    RG_TRY_OK(add_divided(root / controller, view));
  RG_TRY_OK(add_markers(marker_folder, view));
  view.ours = jobs_in_cgroup_paths(small_file(proc_root + "/self/cgroup", kMostCgroupBytes));
  return view;
}

}  // namespace railgauge::agent
