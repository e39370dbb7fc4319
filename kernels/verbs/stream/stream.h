// The timed loop of bandwidth: a stream of posts that keeps all lanes full, and windows over its
// completions. Between two windows it neither allocates nor makes system calls when the TSC is the
// clock and completions are polled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/memory/slots.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

// Completed posts, and the time that they took.
struct Window {
  std::uint64_t writes = 0;
  std::uint64_t ticks = 0;
};

// The posts of one size: the next post of each lane. Plain values for the timed loop.
class Stream {
 public:
  struct Plan {
    // Most posts in flight on each lane.
    std::uint64_t depth = 1;
    // Posts of a lane between two completions.
    std::uint64_t signal_every = 1;
    // Posts that one call of ibv_post_send submits as a chain.
    std::uint64_t post_list = 1;
    // Total posts; 0: endless.
    std::uint64_t writes = 0;
    // Test control: lengthens each group by this share of its own time.
    double added_cost = 0;
    // Pacing by the CPU: the time of one message in ns, and the messages that leave together; 0: as
    // fast as they go.
    double message_ns = 0;
    std::uint64_t burst = 1;
    // In bytes per second, from which message_ns follows for each size.
    double paced_rate = 0;
  };
  // The use of the slots: shared by all lanes, or separate for each lane, one lane behind another.
  struct Aim {
    // Slots of the source area.
    Slots slots{};
    // Each lane has its own slots, so that lanes never touch the same word.
    bool each_lane_its_own = false;
    // The request names memory of the target, whose address advances too.
    bool is_remote = true;
    // Compare-and-swap: each word is expected to hold the number of laps.
    bool counts_laps = false;
    // Distance of the renewed content in this side's memory, or in the target's; both 0: none.
    std::uint64_t renewed_here = 0;
    std::uint64_t renewed_there = 0;
  };
  // `requests` has one request a lane, as Link makes them.
  Stream(SendQueue& queue, const TickClock& clock, std::span<const Request> requests,
         const Plan& plan, const Aim& aim)
      : queue_(queue), clock_(clock), plan_(plan), aim_(aim) {
    // The control posts a group only after the previous one has completed and its cost is paid.
    if (plan_.added_cost > 0) plan_.depth = plan_.signal_every;
    const std::size_t list = plan_.post_list;
    for (std::size_t lane = 0; lane < requests.size(); ++lane) {
      const std::uint64_t span = aim.slots.count * aim.slots.stride_bytes;
      Lane made;
      made.first = requests[lane].sge.addr + (aim.each_lane_its_own ? lane * span : 0);
      made.next = made.first;
      made.end = made.first + span;
      made.stride = aim.slots.stride_bytes;
      made.to_remote = requests[lane].wr.wr.rdma.remote_addr - requests[lane].sge.addr;
      if (plan.writes != 0)
        made.left = plan.writes / requests.size() + (lane < plan.writes % requests.size() ? 1 : 0);
      lanes_.push_back(made);
      chains_.insert(chains_.end(), list, requests[lane]);
    }
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      chains_[i].wr.sg_list = &chains_[i].sge;
      chains_[i].wr.next = (i + 1) % list != 0 ? &chains_[i + 1].wr : nullptr;
      SendQueue::silence(chains_[i], queue_.lane(i / list));
    }
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Fills the queues.
  bool top_up() {
    if (plan_.added_cost > 0) {
      if (queue_.in_flight() > 0) return true;
      group_began_ = clock_.ticks();
    }
    if (is_paced()) [[unlikely]]
      return top_up_paced();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      if (!top_up(lane)) return false;
    return true;
  }

  // Ends the stream without waiting; posts in the queues still complete.
  bool close() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      SendQueue::Lane& state = queue_.lane(lane);
      // A group's tail lacks a completion: one more post brings it.
      if (state.unsignalled == 0) continue;
      Lane& own = lanes_[lane];
      Request* const chain = first_of(lane);
      const bool posted = aim_.counts_laps ? post_chain<true, true>(own, state, chain, 1, true)
                          : aim_.is_remote ? post_chain<true, false>(own, state, chain, 1, true)
                                           : post_chain<false, false>(own, state, chain, 1, true);
      if (!posted) return false;
    }
    return true;
  }
  // Ends the stream and waits; afterwards none of its posts is in flight and the counts are final.
  bool finish() { return queue_.wait_retired() && close() && queue_.wait_retired(); }

  // Continues in full flow with the first slot of the renewed content, where there is one. Once.
  void renew() {
    if (aim_.renewed_here + aim_.renewed_there == 0) return;
    is_renewed_ = true;
    posted_before_ = posted();
    slots_before_ = slots_written();
    for (Lane& lane : lanes_) {
      lane.first += aim_.renewed_here;
      lane.end += aim_.renewed_here;
      lane.to_remote += aim_.renewed_there - aim_.renewed_here;
      lane.next = lane.first;
      lane.lap = 0;
    }
  }

  // Returns the number of posts, derived from laps and positions: the timed loop counts nothing
  // else.
  [[nodiscard]] std::uint64_t posted() const {
    std::uint64_t all = posted_before_;
    for (const Lane& lane : lanes_) all += posted_by(lane);
    return all;
  }
  // Returns the posts since renew() of the lane that has the fewest; 0 before it.
  [[nodiscard]] std::uint64_t fewest_renewed() const {
    if (!is_renewed_) return 0;
    std::uint64_t fewest = UINT64_MAX;
    for (const Lane& lane : lanes_) fewest = std::min(fewest, posted_by(lane));
    return fewest;
  }
  // Returns the posts that the adapter has completed, including posts without their own completion.
  [[nodiscard]] std::uint64_t completed() const { return posted() - queue_.in_flight(); }
  // Returns how many of the first slots were used at least once.
  [[nodiscard]] std::uint64_t slots_written() const {
    std::uint64_t most = slots_before_;
    for (const Lane& lane : lanes_)
      most = std::max<std::uint64_t>(most, lane.lap > 0 ? aim_.slots.count : slot_of(lane));
    return most;
  }

  // Reports whether posts leave at a limited rate: then none may be in flight for a while.
  [[nodiscard]] bool is_paced() const { return plan_.message_ns > 0; }

  // Waits for completions and returns the retired posts; negative on failure. In a paced stream 0
  // says that the next burst is due.
  std::int64_t retire() {
    if (is_paced() && queue_.awaited() == 0) {
      while (!is_due(clock_.ticks())) {
      }
      return 0;
    }
    const std::int64_t retired = queue_.poll_or_wait();
    if (plan_.added_cost > 0 && retired > 0) add_cost(clock_, group_began_, plan_.added_cost);
    return retired;
  }

  // Takes completions without waiting and returns the retired posts; negative on failure.
  std::int64_t drain() {
    std::int64_t all = 0;
    for (std::int64_t retired = queue_.poll(); retired != 0; retired = queue_.poll()) {
      if (retired < 0) return retired;
      all += retired;
    }
    return all;
  }
  [[nodiscard]] SendQueue& queue() { return queue_; }
  [[nodiscard]] const Slots& slots() const { return aim_.slots; }

 private:
  // The next post of one queue pair. The loop works on a copy in registers.
  struct Lane {
    // Remaining posts, when the stream has an end.
    std::uint64_t left = UINT64_MAX;
    // Address of the first slot in the send area.
    std::uint64_t first = 0;
    // Address of the next post's slot.
    std::uint64_t next = 0;
    // Address behind the last slot.
    std::uint64_t end = 0;
    std::uint64_t stride = 0;
    // Distance from a local address to the target's.
    std::uint64_t to_remote = 0;
    // Number of passes of the lane through its slots.
    std::uint64_t lap = 0;
  };
  static_assert(offsetof(ibv_send_wr, wr.rdma.remote_addr) ==
                offsetof(ibv_send_wr, wr.atomic.remote_addr));

  // Whether the next burst may leave.
  [[nodiscard]] bool is_due(std::uint64_t now) const {
    return clock_.to_ns(now - paced_since_) >= static_cast<double>(paced_) * plan_.message_ns;
  }

  // Posts the bursts that are due, lane after lane. A full queue is slower than the rate: nothing
  // is made up for later, so that the rate is never exceeded.
  bool top_up_paced() {
    std::uint64_t now = clock_.ticks();
    if (paced_since_ == 0) paced_since_ = now;
    for (std::size_t skipped = 0; skipped < lanes_.size() && is_due(now); now = clock_.ticks()) {
      const std::size_t number = paced_lane_++ % lanes_.size();
      Lane& lane = lanes_[number];
      const std::uint64_t left = lane.left;
      const std::uint64_t count = std::min(plan_.burst, left);
      if (count == 0 || queue_.lane(number).in_flight + count > plan_.depth) {
        ++skipped;
        paced_since_ = now;
        paced_ = 0;
        continue;
      }
      lane.left = count;  // its last post completes, so that the burst does
      const bool posted = top_up(number);
      lanes_[number].left = left == UINT64_MAX ? left : left - count;
      if (!posted) return false;
      paced_ += count;
      skipped = 0;
    }
    return true;
  }

  // Returns the head of the lane's chain.
  [[nodiscard]] Request* first_of(std::size_t lane) { return &chains_[lane * plan_.post_list]; }

  // Returns the slot of the next post.
  [[nodiscard]] static std::uint64_t slot_of(const Lane& lane) {
    return lane.stride == 0 ? 0 : (lane.next - lane.first) / lane.stride;
  }

  // Returns the lane's posts, since renew().
  [[nodiscard]] std::uint64_t posted_by(const Lane& lane) const {
    return lane.lap * aim_.slots.count + slot_of(lane);
  }

  // Fills one lane. False when a post failed.
  bool top_up(std::size_t lane) {
    if (aim_.counts_laps) [[unlikely]]
      return top_up_by_chains<true, true>(lane);
    if (plan_.post_list == 1) [[likely]]
      return aim_.is_remote ? top_up_singly<true>(lane) : top_up_singly<false>(lane);
    return aim_.is_remote ? top_up_by_chains<true, false>(lane)
                          : top_up_by_chains<false, false>(lane);
  }

  template <bool kIsRemote, bool kCountsLaps>
  bool top_up_by_chains(std::size_t lane) {
    SendQueue::Lane& state = queue_.lane(lane);
    Request* const chain = first_of(lane);
    const std::uint64_t list = plan_.post_list;
    // A copy, which a post cannot change without the compiler's knowledge.
    Lane own = lanes_[lane];
    bool well = true;
    while (well && state.in_flight + list <= plan_.depth) {
      const std::uint64_t count = std::min(list, own.left);
      if (count == 0) break;
      well = post_chain<kIsRemote, kCountsLaps>(own, state, chain, count, false);
    }
    lanes_[lane] = own;
    return well;
  }

  // The common case: one post a call. Values that are the same for every completion are computed
  // once, so a post costs two addresses and the call.
  template <bool kIsRemote>
  bool top_up_singly(std::size_t lane) {
    SendQueue::Lane& state = queue_.lane(lane);
    Request& request = *first_of(lane);
    Lane own = lanes_[lane];
    bool well = true;
    while (well && state.in_flight < plan_.depth && own.left > 0) {
      const std::uint64_t count = std::min(
          {plan_.depth - state.in_flight, plan_.signal_every - state.unsignalled, own.left});
      own.left -= count;
      const bool completes = state.unsignalled + count == plan_.signal_every || own.left == 0;
      well = queue_.post_silently(request, count - (completes ? 1 : 0), state,
                                  [&] { move_on<kIsRemote>(request, own); });
      if (!well || !completes) continue;
      move_on<kIsRemote>(request, own);
      queue_.prepare(request, true, state);
      well = queue_.ring(request, state);
    }
    lanes_[lane] = own;
    return well;
  }

  // Posts the first `count` requests of a chain; with `ends`, the last one is signalled. The
  // requests of a chain are silent between two posts, so a request that does not complete costs two
  // addresses alone.
  template <bool kIsRemote, bool kCountsLaps>
  bool post_chain(Lane& own, SendQueue::Lane& state, Request* chain, std::uint64_t count,
                  bool ends) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if constexpr (kCountsLaps) {
        chain[i].wr.wr.atomic.compare_add = own.lap;
        chain[i].wr.wr.atomic.swap = own.lap + 1;
      }
      move_on<kIsRemote>(chain[i], own);
    }
    own.left -= count;
    const bool last_completes = ends || own.left == 0;
    const std::uint64_t first_signalled = plan_.signal_every - 1 - state.unsignalled;
    state.in_flight += count;
    state.unsignalled += count;
    for (std::uint64_t i = first_signalled; i < count; i += plan_.signal_every)
      queue_.signal(chain[i], plan_.signal_every, state);
    if (last_completes && state.unsignalled > 0)
      queue_.signal(chain[count - 1], state.unsignalled, state);
    ibv_send_wr* const next = std::exchange(chain[count - 1].wr.next, nullptr);
    const bool posted = queue_.ring(*chain, state);
    chain[count - 1].wr.next = next;
    for (std::uint64_t i = first_signalled; i < count; i += plan_.signal_every)
      SendQueue::silence(chain[i], state);
    if (last_completes) SendQueue::silence(chain[count - 1], state);
    return posted;
  }

  // Moves to the next slot; the first slot of the next lap follows the last.
  template <bool kIsRemote>
  static void move_on(Request& request, Lane& own) {
    request.sge.addr = own.next;
    if constexpr (kIsRemote) request.wr.wr.rdma.remote_addr = own.next + own.to_remote;
    own.next += own.stride;
    if (own.next != own.end) return;
    own.next = own.first;
    ++own.lap;
  }

  SendQueue& queue_;
  const TickClock& clock_;
  Plan plan_;
  Aim aim_;
  std::vector<Lane> lanes_;
  std::vector<Request> chains_;  // post_list a lane, chained
  bool is_renewed_ = false;
  // Posts, and slots used, before renew().
  std::uint64_t posted_before_ = 0;
  std::uint64_t slots_before_ = 0;
  // Begin of the group to which the control adds its cost.
  std::uint64_t group_began_ = 0;
  // In a paced stream: since when so many posts were made, and the lane of the next burst.
  std::uint64_t paced_since_ = 0;
  std::uint64_t paced_ = 0;
  std::size_t paced_lane_ = 0;
};

// Returns where a batch's first window begins, which waited from `since` to `now` for the
// completion in front of it. A wait that is longer than two windows of `usual` ticks is a pause of
// the stream: the window takes it in. 0: no window is known yet.
inline std::uint64_t window_begin(std::uint64_t since, std::uint64_t now, std::uint64_t usual) {
  return usual > 0 && now - since > 2 * usual ? since : now;
}

// Divides the completions of one size's stream into windows.
class WindowMeter {
 public:
  // `fixed_writes` is the stream's end, with windows of exactly `window_writes` except for the
  // last; 0 for a stream without an end.
  WindowMeter(Stream& stream, const TickClock& clock, std::uint64_t window_writes,
              std::uint64_t fixed_writes)
      : stream_(stream),
        clock_(clock),
        window_writes_(window_writes),
        fixed_writes_(fixed_writes),
        fixed_(fixed_writes != 0) {
    // Windows follow each other from the first post to the last: no reallocation in between.
    if (fixed_) make_room(fixed_writes / window_writes + 1 + SendQueue::kPollBatch);
  }
  // Makes `count` more windows. False when the queue failed.
  bool batch(std::uint64_t count) {
    taken_ += count;
    make_room(taken_ + SendQueue::kPollBatch);
    if (!begin()) return false;
    while (all_.size() < taken_) {
      const std::int64_t retired = stream_.retire();
      if (retired < 0) return false;
      writes_ += static_cast<std::uint64_t>(retired);
      retired_ += static_cast<std::uint64_t>(retired);
      const std::uint64_t now = clock_.ticks();
      if (const std::uint64_t whole = windows_in(writes_); whole > 0) close(whole, now);
      if (!stream_.top_up()) return false;
    }
    return true;
  }

  // Returns the last `count` requested windows.
  [[nodiscard]] std::span<const Window> last(std::uint64_t count) const {
    return std::span(all_).first(taken_).last(count);
  }

 private:
  // Sets the first window's begin: before the first post when fixed; otherwise at a completion with
  // the queue full, since completions between two batches belong to no window. Without any between
  // them, the queue never ran low and the window continues.
  bool begin() {
    if (fixed_ && !running_) {
      running_ = true;
      since_ = clock_.ticks();
      return stream_.top_up();
    }
    if (fixed_) return true;
    const std::int64_t missed = stream_.drain();
    if (missed < 0) return false;
    if (running_ && missed == 0) return true;
    running_ = true;
    if (!stream_.top_up()) return false;
    const std::uint64_t waits_since = clock_.ticks();
    if (stream_.retire() < 0) return false;
    writes_ = 0;
    since_ = window_begin(waits_since, clock_.ticks(), usual());
    return stream_.top_up();
  }

  // The shorter of the last two windows, because one of them may hold a pause; 0 before two.
  [[nodiscard]] std::uint64_t usual() const {
    const std::size_t count = all_.size();
    return count < 2 ? 0 : std::min(all_[count - 1].ticks, all_[count - 2].ticks);
  }

  // Reserves room, so that closing a window allocates nothing; an open window is discarded.
  void make_room(std::uint64_t count) {
    if (all_.capacity() >= count) return;
    RG_CHECK(!fixed_ || !running_);
    all_.reserve(std::max(count, 2 * all_.capacity()));
    running_ = false;
  }

  // Windows closed by one poll share its writes and time: nothing separates them.
  void close(std::uint64_t windows, std::uint64_t now) {
    for (std::uint64_t left = windows; left > 0; --left) {
      const std::uint64_t writes = fixed_ ? std::min(window_writes_, writes_) : writes_ / left;
      const Window window{writes, std::max<std::uint64_t>(1, (now - since_) / left)};
      all_.push_back(window);
      writes_ -= window.writes;
      since_ += (now - since_) / left;
    }
  }

  [[nodiscard]] std::uint64_t windows_in(std::uint64_t writes) const {
    const std::uint64_t whole = writes / window_writes_;
    // The last window of a fixed number may be short.
    const bool has_rest = fixed_ && retired_ == fixed_writes_ && writes % window_writes_ != 0;
    return whole + (has_rest ? 1 : 0);
  }

  Stream& stream_;
  const TickClock& clock_;
  // Posts that close a window.
  std::uint64_t window_writes_;
  // End of the stream; 0: endless.
  std::uint64_t fixed_writes_;
  bool fixed_;
  std::uint64_t retired_ = 0;  // in all
  // A window is open: its begin is since_.
  bool running_ = false;
  // Posts of the open window.
  std::uint64_t writes_ = 0;
  // Begin of the open window, in ticks.
  std::uint64_t since_ = 0;
  // Requested windows.
  std::uint64_t taken_ = 0;
  // A poll may close more windows than requested.
  std::vector<Window> all_;
};

}  // namespace railgauge::verbs
