#include "controller/store/upkeep/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/store/upkeep/backup.h"
#include "kernels/core/base/fd.h"

namespace railgauge::store {
namespace {

// Below this a write may fail; above it, and the reserve, the disk counts as free again.
constexpr double kLeastFreeBytes = 256.0 * 1024;
constexpr double kPlenty = 4;  // times the reserve: a small disk is not filled by it

}  // namespace

Reserve::Reserve(const std::string& database, double bytes)
    : database_(database), file_(database + ".reserve"), bytes_(bytes) {
  if (bytes_ > 0 && size_of_file(file_) > 0 && free_bytes() < kLeastFreeBytes) {
    note_full();
    release();  // the database cannot even be opened without room
  }
}

double Reserve::free_bytes() const { return free_bytes_beside(database_).value_or(0); }

void Reserve::fill() {
  const std::lock_guard lock(mutex_);
  if (bytes_ <= 0 || is_full_ || size_of_file(file_) >= bytes_) return;
  if (free_bytes() > kPlenty * bytes_) static_cast<void>(allocate());
}

// Real blocks: a sparse file would hold nothing.
bool Reserve::allocate() {
  constexpr mode_t kMode = 0600;
  const Fd file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
  const bool made = file && ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_)) == 0;
  if (!made) ::unlink(file_.c_str());
  return made;
}

void Reserve::release() {
  if (size_of_file(file_) <= 0 || ::unlink(file_.c_str()) != 0) return;
  is_released_ = true;
}

void Reserve::note_full() {
  if (is_full_.exchange(true)) return;
  spdlog::error("store {}: its file system is full: read-only until there is room", database_);
}

void Reserve::give_up() {
  const std::lock_guard lock(mutex_);
  if (is_full_) release();
}

void Reserve::hold(std::string why) {
  const std::lock_guard lock(mutex_);
  held_ = std::move(why);
}

Status Reserve::refusal() const {
  if (!held_.empty())
    return fail(Code::kResourceExhausted, fmt::format("store {}: read-only: {}", database_, held_));
  if (!is_full_) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("store {}: its file system is full, so only reads and railgauge db prune "
                          "are served; free space there",
                          database_));
}

Status Reserve::check() {
  const std::lock_guard lock(mutex_);
  if (is_full_) {
    const double wanted = kLeastFreeBytes + (is_released_ ? bytes_ + kLeastFreeBytes : 0);
    if (free_bytes() < wanted || (is_released_ && !allocate())) return refusal();
    is_released_ = false;
    is_full_ = false;
    spdlog::info("store {}: there is room again; it is written again", database_);
  }
  return refusal();
}

std::string Reserve::trouble() const {
  const std::lock_guard lock(mutex_);
  const Status status = refusal();
  return status ? "" : status.error().message;
}

bool Reserve::is_tight() const {
  const std::lock_guard lock(mutex_);
  return is_full_ && is_released_ && free_bytes() < bytes_ / 2;
}

}  // namespace railgauge::store
