// The kernel's notices of MSG_ZEROCOPY come by the socket's error queue (Linux 4.14), those of
// io_uring in its completion queue (6.0). io_uring is used by its system calls, one send in flight.
#include "kernels/net/outlet.h"

#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"
#include "kernels/net/pipe.h"
#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

// Sends whose memory the kernel may read, on one socket: enough to keep a link busy, few enough for
// the limits of locked memory.
constexpr std::uint64_t kMostOutstanding = 32;
constexpr int kLookMs = static_cast<int>(kLookNs / 1e6);
// Sleeps for a look, or less.
void rest() { static_cast<void>(sockets().poll(nullptr, 0, kLookMs)); }

struct SendingRow {
  const char* name;
  Sending way;
};
constexpr std::array kSendings{SendingRow{"copy", Sending::kCopy},
                               SendingRow{"zerocopy", Sending::kZeroCopy},
                               SendingRow{"io_uring", Sending::kUring},
                               SendingRow{"io_uring_zerocopy", Sending::kUringZeroCopy}};

// --- MSG_ZEROCOPY ------------------------------------------------------------------------------

// Sends with MSG_ZEROCOPY on one socket. The kernel numbers the sends and reports ranges of them.
class ZeroCopyOutlet final : public Outlet {
 public:
  explicit ZeroCopyOutlet(int socket) : socket_(socket) {}

  // A send that moved something has one notice later, however many of its bytes the kernel took.
  // Notices are read only where they are needed, so that the loop is one call a message.
  ssize_t send(std::span<const std::byte> bytes) override {
    lacks_memory_ = false;
    if (outstanding_ >= kMostOutstanding && !read_notices()) return -1;
    if (outstanding_ >= kMostOutstanding && settle() < 0) return -1;
    if (outstanding_ >= kMostOutstanding) return errno = EAGAIN, -1;
    const ssize_t sent =
        sockets().send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_ZEROCOPY);
    if (sent > 0) ++outstanding_;
    // The limit of notices or of locked memory: sends of this socket or of others free some.
    if (sent < 0 && errno == ENOBUFS) {
      lacks_memory_ = true;
      if (outstanding_ == 0) rest();
      if (settle() < 0) return -1;
      errno = EAGAIN;
    }
    return sent;
  }

  ssize_t settle() override {
    if (!read_notices()) return -1;
    if (outstanding_ == 0) return 0;
    pollfd wanted{.fd = socket_, .events = 0, .revents = 0};  // errors always show
    if (sockets().poll(&wanted, 1, kLookMs) < 0 && errno != EINTR) return -1;
    return read_notices() ? static_cast<ssize_t>(outstanding_) : -1;
  }

  [[nodiscard]] ZeroCopyCount count() const override { return count_; }

 private:
  // Takes all notices that are there. False with errno on failure.
  bool read_notices() {
    while (outstanding_ > 0) {
      std::array<std::byte, 128> room{};
      msghdr message{};
      message.msg_control = room.data();
      message.msg_controllen = room.size();
      const ssize_t got = sockets().recvmsg(socket_, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
           each = CMSG_NXTHDR(&message, each))
        take(*each);
    }
    return true;
  }
  // A notice is about a range of sends.
  void take(const cmsghdr& header) {
    const bool is_error = (header.cmsg_level == SOL_IP && header.cmsg_type == IP_RECVERR) ||
                          (header.cmsg_level == SOL_IPV6 && header.cmsg_type == IPV6_RECVERR);
    if (!is_error) return;
    sock_extended_err notice{};
    std::memcpy(&notice, CMSG_DATA(&header), sizeof notice);
    if (notice.ee_origin != SO_EE_ORIGIN_ZEROCOPY || notice.ee_errno != 0) return;
    const std::uint64_t ended =
        std::min<std::uint64_t>(notice.ee_data - notice.ee_info + 1U, outstanding_);
    outstanding_ -= ended;
    count_.sends += ended;
    if ((notice.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) count_.copied += ended;
  }

  int socket_;
  std::uint64_t outstanding_ = 0;
  ZeroCopyCount count_;
};

// --- io_uring ----------------------------------------------------------------------------------

// Memory that the kernel shares.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, std::size_t bytes, off_t offset)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                       offset)) {}
  Mapping(Mapping&& other) noexcept
      : bytes_(other.bytes_), memory_(std::exchange(other.memory_, MAP_FAILED)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Mapping() {
    if (*this) ::munmap(memory_, bytes_);
  }
  explicit operator bool() const { return memory_ != MAP_FAILED; }
  template <class Value>
  [[nodiscard]] Value* at(std::size_t offset) const {
    return reinterpret_cast<Value*>(static_cast<std::byte*>(memory_) + offset);
  }

 private:
  std::size_t bytes_ = 0;
  void* memory_ = MAP_FAILED;
};

// Sends by one ring of its own, with or without a copy. The ring has more entries than sends that
// can be outstanding, so that neither of its queues overflows.
class UringOutlet final : public Outlet {
 public:
  UringOutlet(int socket, bool copies) : socket_(socket), copies_(copies) {}
  // A send that never ended still reads its message: the connection ends first.
  ~UringOutlet() override {
    if (is_in_flight_) ::shutdown(socket_, SHUT_RDWR);
  }

  // Makes the ring and maps its two queues. The wait with a time limit is what keeps every step of
  // a task within its limits; a kernel without it is refused.
  Status open(const std::string& who) {
    io_uring_params params{};
    ring_ = Fd(sockets().uring_setup(2 * kMostOutstanding, &params));
    if (!ring_ && errno != ENOSYS && errno != EPERM)
      return fail(Code::kResourceExhausted, "{}: open an io_uring: {}", who, errno_words(errno));
    if (!ring_)
      return fail(
          errno == ENOSYS ? Code::kUnimplemented : Code::kFailedPrecondition,
          "{}: open an io_uring: {}; it is off by kernel.io_uring_disabled, by a container's "
          "filter, or by the keeper of an old kernel",
          who, errno_words(errno));
    if ((params.features & IORING_FEAT_EXT_ARG) == 0 ||
        (params.features & IORING_FEAT_SINGLE_MMAP) == 0)
      return fail(Code::kUnimplemented,
                  "{}: io_uring: this kernel's waits have no time limit; 5.11 "
                  "and later have",
                  who);
    if (!copies_ && !knows(IORING_OP_SEND_ZC))
      return fail(Code::kUnimplemented,
                  "{}: io_uring: this kernel has no send without a copy; 6.0 and later have", who);
    const std::size_t queue_bytes =
        std::max(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                 params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    queues_ = Mapping(ring_.get(), queue_bytes, IORING_OFF_SQ_RING);
    entries_ = Mapping(ring_.get(), params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
    if (!queues_ || !entries_)
      return fail(Code::kResourceExhausted, "{}: map an io_uring: {}", who, errno_words(errno));
    params_ = params;
    return {};
  }

  // One send at a time: the kernel may otherwise send a later message between the halves of one.
  // A call after EAGAIN waits on for the send that is in flight.
  ssize_t send(std::span<const std::byte> bytes) override {
    if (!is_in_flight_) {
      if (outstanding_ >= kMostOutstanding && wait_for_one() < 0) return -1;
      if (outstanding_ >= kMostOutstanding) return errno = EAGAIN, -1;
      place(bytes);
      is_in_flight_ = true;
      has_result_ = false;
      if (wait_for_one() < 0) return -1;
    } else if (wait_for_one() < 0) {
      return -1;
    }
    if (!has_result_) return errno = EAGAIN, -1;
    is_in_flight_ = false;
    // Kernels before 6.2 do not say whether they copied: the send is made again without asking.
    if (result_ == -EINVAL && !copies_ && asks_for_copies_) {
      asks_for_copies_ = false;
      return send(bytes);
    }
    lacks_memory_ = result_ == -ENOBUFS && !copies_;
    if (lacks_memory_) return rest(), errno = EAGAIN, -1;
    if (result_ < 0) return errno = -result_, -1;
    return result_;
  }

  ssize_t settle() override {
    take_completions();
    if (outstanding_ > 0 && wait_for_one() < 0) return -1;
    return static_cast<ssize_t>(outstanding_);
  }

  [[nodiscard]] ZeroCopyCount count() const override { return count_; }

 private:
  // Whether the kernel has an operation.
  [[nodiscard]] bool knows(unsigned operation) const {
    constexpr unsigned kOperations = 256;
    alignas(io_uring_probe)
        std::array<std::byte, sizeof(io_uring_probe) + kOperations * sizeof(io_uring_probe_op)>
            room{};
    auto* probe = reinterpret_cast<io_uring_probe*>(room.data());
    return sockets().uring_register(ring_.get(), IORING_REGISTER_PROBE, probe, kOperations) == 0 &&
           operation <= probe->last_op &&
           (probe->ops[operation].flags & IO_URING_OP_SUPPORTED) != 0;
  }

  // Writes one entry into the submission queue. MSG_WAITALL: a message is sent as a whole.
  void place(std::span<const std::byte> bytes) {
    auto* tail = queues_.at<unsigned>(params_.sq_off.tail);
    const unsigned mask = *queues_.at<unsigned>(params_.sq_off.ring_mask);
    const unsigned index = *tail & mask;
    io_uring_sqe& entry = entries_.at<io_uring_sqe>(0)[index];
    entry = {};
    entry.opcode = static_cast<__u8>(copies_ ? IORING_OP_SEND : IORING_OP_SEND_ZC);
    entry.fd = socket_;
    entry.addr = reinterpret_cast<__u64>(bytes.data());
    entry.len = static_cast<__u32>(std::min<std::size_t>(bytes.size(), INT32_MAX));
    entry.msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    if (!copies_ && asks_for_copies_) entry.ioprio = IORING_SEND_ZC_REPORT_USAGE;
    queues_.at<unsigned>(params_.sq_off.array)[index] = index;
    std::atomic_ref(*tail).store(*tail + 1, std::memory_order_release);
  }

  // Submits, waits some 20 ms for a completion, and takes all. -1 with errno on failure; a wait in
  // vain is none.
  int wait_for_one() {
    // An entry that an earlier call could not submit goes now.
    const unsigned taken =
        std::atomic_ref(*queues_.at<unsigned>(params_.sq_off.head)).load(std::memory_order_acquire);
    const unsigned submit = *queues_.at<unsigned>(params_.sq_off.tail) - taken;
    __kernel_timespec limit{.tv_sec = 0, .tv_nsec = static_cast<long long>(kLookNs)};
    io_uring_getevents_arg argument{};
    argument.ts = reinterpret_cast<__u64>(&limit);
    const int done =
        sockets().uring_enter(ring_.get(), submit, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                              &argument, sizeof argument);
    if (done < 0 && errno != ETIME && errno != EINTR) return -1;
    take_completions();
    return 0;
  }

  // A send without a copy has two: its result, and the notice that its memory is free.
  void take_completions() {
    auto* head = queues_.at<unsigned>(params_.cq_off.head);
    const unsigned mask = *queues_.at<unsigned>(params_.cq_off.ring_mask);
    const unsigned tail =
        std::atomic_ref(*queues_.at<unsigned>(params_.cq_off.tail)).load(std::memory_order_acquire);
    unsigned at = *head;
    for (; at != tail; ++at) {
      const io_uring_cqe& one = queues_.at<io_uring_cqe>(params_.cq_off.cqes)[at & mask];
      if ((one.flags & IORING_CQE_F_NOTIF) != 0) {
        if (outstanding_ > 0) --outstanding_;
        ++count_.sends;
        if ((static_cast<unsigned>(one.res) & IORING_NOTIF_USAGE_ZC_COPIED) != 0) ++count_.copied;
        continue;
      }
      has_result_ = true;
      result_ = one.res;
      if ((one.flags & IORING_CQE_F_MORE) != 0) ++outstanding_;
    }
    std::atomic_ref(*head).store(at, std::memory_order_release);
  }

  int socket_;
  bool copies_;
  Fd ring_;
  io_uring_params params_{};
  Mapping queues_;
  Mapping entries_;
  bool is_in_flight_ = false;
  bool asks_for_copies_ = true;
  bool has_result_ = false;
  int result_ = 0;
  std::uint64_t outstanding_ = 0;
  ZeroCopyCount count_;
};

}  // namespace

std::vector<std::string> sending_names() {
  std::vector<std::string> names;
  for (const SendingRow& row : kSendings) names.emplace_back(row.name);
  return names;
}

Sending sending_of(std::string_view name) {
  const auto* row = std::ranges::find(kSendings, name, &SendingRow::name);
  RG_CHECK(row != kSendings.end());
  return row->way;
}

Result<std::unique_ptr<Outlet>> Outlet::open(Sending way, int socket, const std::string& who) {
  RG_CHECK(way != Sending::kCopy);
  if (way == Sending::kZeroCopy) {
    const int on = 1;
    if (sockets().setsockopt(socket, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0)
      return fail(
          errno == ENOPROTOOPT || errno == EOPNOTSUPP ? Code::kUnimplemented : Code::kInternal,
          "{}: set SO_ZEROCOPY: {}; Linux 4.14 and later have it", who, errno_words(errno));
    return std::make_unique<ZeroCopyOutlet>(socket);
  }
  auto made = std::make_unique<UringOutlet>(socket, way == Sending::kUring);
  RG_TRY_OK(made->open(who));
  return made;
}

}  // namespace railgauge::net
