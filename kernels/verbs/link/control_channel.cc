#include "kernels/verbs/link/control_channel.h"

#include <array>
#include <cstring>
#include <limits>

#include "kernels/core/agreement.h"

namespace railgauge::verbs {
namespace {

// The memory: the incoming word and its abort flag; a cache line on, the outgoing ones.
constexpr std::size_t kAbortFlag = sizeof(ControlWord);
constexpr std::size_t kOutgoing = 64;
constexpr std::size_t kBytes = 2 * kOutgoing;
// Sends in flight: a word, an abort, and spare.
constexpr std::uint32_t kDepth = 4;

// The shortest of 64 round trips is free of scheduling delays in practice.
constexpr int kExchanges = 64;

// Times travel as ns since a moment of each rank's own, shortly before: they fit 48 bits.
class OwnTime {
 public:
  explicit OwnTime(const TickClock& clock) : clock_(clock), origin_(clock.ticks()) {}
  [[nodiscard]] double now_ns() const { return clock_.to_ns(clock_.ticks() - origin_); }
  [[nodiscard]] std::uint64_t ticks_at(double ns) const {
    return origin_ + static_cast<std::uint64_t>(ns / clock_.ns_per_tick());
  }

 private:
  const TickClock& clock_;
  std::uint64_t origin_;
};

// Rank 0. Cristian's method: the peer's clock is read half a round trip after the question, and the
// error is at most half that round trip.
bool set_begin(ControlChannel& control, const OwnTime& time, double lead_ns, CommonBegin& begin) {
  double shortest_ns = std::numeric_limits<double>::infinity();
  double offset_ns = 0;  // theirs less ours
  for (int i = 0; i < kExchanges; ++i) {
    ControlWord answer;
    const double asked_ns = time.now_ns();
    if (!control.send(ControlWord::of(Order::kTime, 0)) || !control.receive(answer)) return false;
    const double answered_ns = time.now_ns();
    if (answered_ns - asked_ns >= shortest_ns) continue;
    shortest_ns = answered_ns - asked_ns;
    offset_ns = static_cast<double>(answer.value()) - (asked_ns + answered_ns) / 2;
  }
  const double begin_ns = time.now_ns() + lead_ns;
  begin = {time.ticks_at(begin_ns), shortest_ns / 2};
  const auto theirs_ns = static_cast<std::uint64_t>(begin_ns + offset_ns);
  ControlWord ready;  // else a later word could overtake a slow reader
  return control.send(ControlWord::of(Order::kBegin, theirs_ns)) && control.receive(ready);
}

// Rank 1: answers with its time until rank 0 sends the begin in rank 1's own time.
bool learn_begin(ControlChannel& control, const OwnTime& time, CommonBegin& begin) {
  for (;;) {
    ControlWord word;
    if (!control.receive(word)) return false;
    if (word.order == Order::kBegin) {
      begin = {time.ticks_at(static_cast<double>(word.value())), 0};
      return control.send({.order = Order::kReady});
    }
    const auto now_ns = static_cast<std::uint64_t>(time.now_ns());
    if (!control.send(ControlWord::of(Order::kTime, now_ns))) return false;
  }
}

}  // namespace

// The queue pair is reliable and has a completion queue of its own, so its completions never mix
// with those of the timed lanes.
Result<ControlChannel> ControlChannel::open(Link& link) {
  ControlChannel channel;
  channel.buffer_ = RG_TRY(HostBuffer::allocate(kBytes));
  channel.region_ = RG_TRY(link.register_memory(channel.buffer_.span(), IBV_ACCESS_REMOTE_WRITE));
  channel.completions_ = RG_TRY(link.make_completions(kDepth, nullptr));
  ibv_qp_init_attr init{};
  init.send_cq = channel.completions_.get();
  init.recv_cq = channel.completions_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap.max_send_wr = kDepth;
  init.cap.max_recv_wr = 1;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  channel.queue_pair_ = RG_TRY(make_queue_pair(link.device(), link.domain(), init));
  const std::array raw{channel.queue_pair_.get()};
  channel.queue_ = SendQueue(link.waiting(), {channel.completions_.get(), nullptr}, raw);
  link.mine().set_control_queue_pair(channel.queue_pair_.get()->qp_num);
  link.mine().set_control_address(reinterpret_cast<std::uint64_t>(channel.buffer_.data()));
  link.mine().set_control_key(channel.region_.get()->rkey);
  return channel;
}

// The control queue pair takes the lane number after the last data lane; that number selects its
// flow label and its connection.
Status ControlChannel::connect(const Context& context, Link& link, Group& group) {
  const PeerAddress& peer = link.peer();
  const Status here = bring_up(link.introduction(context.params, IBV_ACCESS_REMOTE_WRITE),
                               queue_pair_.get(), peer.control_queue_pair(), link.options().lanes);
  *(buffer_.data() + kOutgoing + kAbortFlag) = std::byte{1};
  const auto write = [&](std::size_t part, std::size_t bytes) {
    return Request::write(buffer_.data() + kOutgoing + part, bytes, region_.get(),
                          peer.control_address() + part, peer.control_key());
  };
  request_ = write(0, sizeof(ControlWord));
  abort_request_ = write(kAbortFlag, 1);
  link.waiting().watch_abort(reinterpret_cast<const std::uint8_t*>(buffer_.data()) + kAbortFlag);
  return agree<PeerStatus>(group, here, seconds_left(context));
}

void ControlChannel::abort() {
  // Its result changes nothing: the peer's stall limit covers the loss.
  static_cast<void>(queue_.post(abort_request_, true));
}

// The sequence number is the word's last byte, and adapters place the last byte last.
bool ControlChannel::send(ControlWord word) {
  word.sequence = ++sent_;
  std::memcpy(buffer_.data() + kOutgoing, &word, sizeof word);
  return queue_.post(request_, true) && queue_.wait_retired();
}

// Sequence numbers wrap at 256. That is safe because a word is read before the next one comes.
bool ControlChannel::receive(ControlWord& word) {
  if (!queue_.wait_for_byte(incoming_sequence(), ++received_)) return false;
  std::memcpy(&word, buffer_.data(), sizeof word);
  return true;
}

bool ControlChannel::has_word() const {
  return __atomic_load_n(incoming_sequence(), __ATOMIC_ACQUIRE) ==
         static_cast<std::uint8_t>(received_ + 1);
}

const std::uint8_t* ControlChannel::incoming_sequence() const {
  return reinterpret_cast<const std::uint8_t*>(buffer_.data()) + offsetof(ControlWord, sequence);
}

bool agree_on_begin(ControlChannel& control, const TickClock& clock, std::uint32_t rank,
                    double lead_ns, CommonBegin& begin) {
  const OwnTime time(clock);
  return rank == 0 ? set_begin(control, time, lead_ns, begin) : learn_begin(control, time, begin);
}

}  // namespace railgauge::verbs
