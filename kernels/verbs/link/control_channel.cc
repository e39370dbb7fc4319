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
// By sends a word comes into any of these places: one word, an abort, and spare.
constexpr std::size_t kPlaces = 4;
constexpr std::size_t kWordBytes = sizeof(ControlWord);
constexpr std::size_t kAbortWord = kOutgoing + kWordBytes;
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
  const bool by_sends = !link.is_ordered();
  ControlChannel channel;
  channel.buffer_ = RG_TRY(HostBuffer::allocate(kBytes));
  channel.region_ =
      RG_TRY(link.register_memory(channel.buffer_.span(), by_sends ? 0 : IBV_ACCESS_REMOTE_WRITE));
  channel.completions_ = RG_TRY(link.make_completions(kDepth, nullptr));
  if (by_sends) channel.arrivals_ = RG_TRY(link.make_completions(kPlaces, nullptr));
  ibv_qp_init_attr init{};
  init.send_cq = channel.completions_.get();
  init.recv_cq = by_sends ? channel.arrivals_.get() : channel.completions_.get();
  init.cap.max_send_wr = kDepth;
  init.cap.max_recv_wr = by_sends ? kPlaces : 1;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  channel.queue_pair_ = RG_TRY(link.make_beside(init));
  const std::array raw{channel.queue_pair_.get()};
  channel.queue_ = SendQueue(link.waiting(), {channel.completions_.get(), nullptr}, raw, by_sends);
  link.mine().set_control_queue_pair(channel.queue_pair_.get()->qp_num);
  link.mine().set_control_address(reinterpret_cast<std::uint64_t>(channel.buffer_.data()));
  link.mine().set_control_key(channel.region_.get()->rkey);
  return channel;
}

// The control queue pair takes the lane number after the last data lane; that number selects its
// flow label and its connection.
Status ControlChannel::connect(const Context& context, Link& link, Group& group) {
  const PeerAddress& peer = link.peer();
  const bool by_sends = static_cast<bool>(arrivals_);
  const Introduction with =
      link.introduction(context.params, by_sends ? 0 : IBV_ACCESS_REMOTE_WRITE);
  const Status here = [&]() -> Status {
    address_ = RG_TRY(link.join_beside(with, queue_pair_.get(), peer.control_queue_pair(),
                                       link.options().lanes, queue_));
    for (std::size_t place = 0; by_sends && place < kPlaces; ++place)
      if (!give_receive(place)) return tl::unexpected(link.waiting().failure());
    return {};
  }();
  const auto* const incoming = reinterpret_cast<const std::uint8_t*>(buffer_.data());
  if (by_sends) {
    const ControlWord gives_up{.order = Order::kGivesUp};
    std::memcpy(buffer_.data() + kAbortWord, &gives_up, kWordBytes);
    request_ = Request::write(buffer_.data() + kOutgoing, kWordBytes, region_.get(), 0, 0);
    abort_request_ = Request::write(buffer_.data() + kAbortWord, kWordBytes, region_.get(), 0, 0);
    request_.wr.opcode = abort_request_.wr.opcode = IBV_WR_SEND;
    link.waiting().watch_abort(incoming + offsetof(ControlWord, order),
                               static_cast<std::uint8_t>(Order::kGivesUp), kPlaces, kWordBytes);
  } else {
    *(buffer_.data() + kOutgoing + kAbortFlag) = std::byte{1};
    const auto write = [&](std::size_t part, std::size_t bytes) {
      return Request::write(buffer_.data() + kOutgoing + part, bytes, region_.get(),
                            peer.control_address() + part, peer.control_key());
    };
    request_ = write(0, sizeof(ControlWord));
    abort_request_ = write(kAbortFlag, 1);
    link.waiting().watch_abort(incoming + kAbortFlag, 1);
  }
  return agree<PeerStatus>(group, here, seconds_left(context));
}

bool ControlChannel::give_receive(std::size_t place) {
  ibv_sge sge{};
  sge.addr = reinterpret_cast<std::uint64_t>(buffer_.data()) + place * kWordBytes;
  sge.length = kWordBytes;
  sge.lkey = region_.get()->lkey;
  ibv_recv_wr receive{};
  receive.wr_id = place;
  receive.sg_list = &sge;
  receive.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(queue_pair_.get(), &receive, &bad);
  return error == 0 ||
         queue_.waiting().fail_with(Waiting::Failure::kPost, error, queue_pair_.get());
}

// A word is read before the next one is sent, so at most one is here. Any other one is an abort,
// whose place stays as it is, or one that came twice.
bool ControlChannel::take_words() {
  std::array<ibv_wc, kPlaces> done{};
  const int count = ibv_poll_cq(arrivals_.get(), static_cast<int>(done.size()), done.data());
  if (count < 0) return queue_.waiting().fail_with(Waiting::Failure::kPoll, 0, queue_pair_.get());
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done[static_cast<std::size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS)
      return queue_.waiting().fail_with(Waiting::Failure::kCompletion, static_cast<int>(wc.status),
                                        queue_pair_.get());
    ControlWord word;
    std::memcpy(&word, buffer_.data() + wc.wr_id * kWordBytes, kWordBytes);
    if (word.order == Order::kGivesUp) continue;
    if (word.sequence == static_cast<std::uint8_t>(received_ + 1)) word_ = word;
    if (!give_receive(wc.wr_id)) return false;
  }
  return true;
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
  if (!arrivals_) {
    if (!queue_.wait_for_byte(incoming_sequence(), ++received_)) return false;
    std::memcpy(&word, buffer_.data(), sizeof word);
    return true;
  }
  for (std::uint64_t since = 0; !word_;) {
    for (unsigned i = 0; i < SendQueue::kPollsBetweenLooks && !word_; ++i)
      if (!take_words()) return false;
    if (!word_ && (queue_.poll() < 0 || !queue_.waiting().may_continue(since))) return false;
  }
  word = *word_;
  word_.reset();
  ++received_;
  return true;
}

// A queue that failed has something to say, too: receive() does.
bool ControlChannel::has_word() {
  if (arrivals_) return word_ || !take_words() || word_;
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
