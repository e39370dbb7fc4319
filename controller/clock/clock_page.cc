#include "controller/clock/clock_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {

// The numbers of the file. `number` is twice that of the jump, and odd while the anchor changes.
struct ClockPage::Layout {
  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint64_t> number;
  std::atomic<std::int64_t> wall_ns;
  std::atomic<std::int64_t> steady_ns;
  std::atomic<std::int64_t> ahead_ns;
  std::atomic<std::int64_t> wanted_ns;
  std::atomic<std::uint64_t> followed;  // one more than the jump; 0: none
  std::atomic<std::uint32_t> has_fleet;
  std::atomic<std::uint32_t> is_settled;
};

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");
constexpr std::uint64_t kMagic = 0x31'4b43'4c43'4752;  // "RGCLCK1"
constexpr double kNsPerSecond = 1e9;

// CLOCK_MONOTONIC, which all processes of the host share.
std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t ns_of(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * kNsPerSecond));
}

// A lock of the open file, not of the process: the controller's own reader asks for it too.
struct flock fleet_lock(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / kNsPerSecond; }

}  // namespace

Result<std::shared_ptr<ClockPage>> ClockPage::map(const std::string& path, int flags) {
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
  if (file.get() < 0) {
    const Code code = errno == ENOENT   ? Code::kNotFound
                      : errno == EACCES ? Code::kPermissionDenied
                                        : Code::kResourceExhausted;
    return fail(code,
                fmt::format("clock {}: open: {}; railgauge-controller --simulated-clock makes "
                            "it beside its database",
                            path, errno_words(errno)));
  }
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || (found.st_size != 0 && found.st_size != sizeof(Layout)) ||
      (found.st_size == 0 && (flags & O_CREAT) == 0))
    return fail(Code::kInvalidArgument,
                fmt::format("clock {}: {} bytes are no simulated clock", path, found.st_size));
  if (found.st_size == 0 && ::ftruncate(file.get(), sizeof(Layout)) != 0)
    return fail(Code::kResourceExhausted,
                fmt::format("clock {}: make: {}", path, errno_words(errno)));
  void* const memory =
      ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED)
    return fail(Code::kResourceExhausted,
                fmt::format("clock {}: map: {}", path, errno_words(errno)));
  auto* const page = static_cast<Layout*>(memory);
  std::shared_ptr<ClockPage> clock(new ClockPage(page, std::move(file)));
  const bool is_new = found.st_size == 0;
  if (!is_new && page->magic != kMagic)
    return fail(Code::kInvalidArgument, fmt::format("clock {}: it is no simulated clock", path));
  return clock;
}

// After a reboot the host's clock has begun anew, so that the file's own time counts.
Result<std::shared_ptr<ClockPage>> ClockPage::make(const std::string& path, double start) {
  auto clock = RG_TRY(map(path, O_CREAT));
  const bool goes_on = clock->page_->magic == kMagic;
  const Anchor before = clock->anchor();
  const std::int64_t flown = std::max<std::int64_t>(steady_ns() - before.steady_ns, 0);
  clock->set_anchor({.number = goes_on ? before.number + 1 : 0,
                     .wall_ns = std::max(ns_of(start), goes_on ? before.wall_ns + flown : 0),
                     .steady_ns = steady_ns()});
  clock->page_->wanted_ns = 0;
  clock->page_->is_settled = 0;
  clock->page_->magic = kMagic;
  return clock;
}

Result<std::shared_ptr<ClockPage>> ClockPage::open(const std::string& path) { return map(path, 0); }

ClockPage::~ClockPage() { ::munmap(page_, sizeof(Layout)); }

// A reader that met a change reads again. A controller that was killed in the middle of one leaves
// an odd number for good.
ClockPage::Anchor ClockPage::anchor() const {
  constexpr int kMostReads = 10'000;
  Anchor anchor;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const std::uint64_t before = page_->number;
    anchor = {.number = before / 2,
              .wall_ns = page_->wall_ns,
              .steady_ns = page_->steady_ns,
              .ahead_ns = page_->ahead_ns};
    if (before % 2 == 0 && page_->number == before) break;
  }
  return anchor;
}

void ClockPage::set_anchor(const Anchor& anchor) {
  page_->number = anchor.number * 2 + 1;
  page_->wall_ns = anchor.wall_ns;
  page_->steady_ns = anchor.steady_ns;
  page_->ahead_ns = anchor.ahead_ns;
  page_->number = anchor.number * 2;
}

double ClockPage::now() const {
  const Anchor at = anchor();
  return seconds_of(at.wall_ns + (steady_ns() - at.steady_ns));
}

ClockPage::Jump ClockPage::last_jump() const {
  const Anchor at = anchor();
  return {.number = at.number, .to = seconds_of(at.wall_ns), .ahead = seconds_of(at.ahead_ns)};
}

double ClockPage::seconds_since_jump() const {
  return seconds_of(steady_ns() - anchor().steady_ns);
}

void ClockPage::jump(double to) {
  const Anchor at = anchor();
  const std::int64_t steady = steady_ns();
  const std::int64_t now = at.wall_ns + (steady - at.steady_ns);
  if (ns_of(to) <= now) return;
  page_->is_settled = 0;
  set_anchor({.number = at.number + 1,
              .wall_ns = ns_of(to),
              .steady_ns = steady,
              .ahead_ns = ns_of(to) - now});
}

void ClockPage::want(double until) {
  page_->is_settled = 0;
  page_->wanted_ns = ns_of(std::min(until, kMostSeconds));
}

double ClockPage::wanted() const { return seconds_of(page_->wanted_ns); }

void ClockPage::set_settled(bool is_settled) { page_->is_settled = is_settled ? 1 : 0; }

bool ClockPage::is_settled() const { return page_->is_settled != 0; }

void ClockPage::enter() {
  struct flock whole = fleet_lock(F_WRLCK);
  ::fcntl(file_.get(), F_OFD_SETLK, &whole);
  has_entered_ = true;
  page_->followed = 0;
  page_->has_fleet = 1;
}

void ClockPage::leave() {
  page_->has_fleet = 0;
  has_entered_ = false;
  struct flock whole = fleet_lock(F_UNLCK);
  ::fcntl(file_.get(), F_OFD_SETLK, &whole);
}

bool ClockPage::has_fleet() const {
  if (page_->has_fleet == 0) return false;
  if (has_entered_) return true;
  struct flock found = fleet_lock(F_WRLCK);
  return ::fcntl(file_.get(), F_OFD_GETLK, &found) != 0 || found.l_type != F_UNLCK;
}

void ClockPage::follow(std::uint64_t jump) { page_->followed = jump + 1; }

bool ClockPage::is_followed() const { return page_->followed > anchor().number || !has_fleet(); }

}  // namespace railgauge
