// Sends and receives between pairs of ranks: a ping-pong, and windows of messages in flight.
#include <barrier>
#include <thread>

#include "kernels/mpi/pairs.h"

namespace railgauge::mpi {
namespace {

// The two messages of a round trip by one call each, as OSU's osu_latency has them.
class BlockingCalls {
 public:
  explicit BlockingCalls(Work& work) : work_(work), other_(partner(work.share)) {}
  void send() { work_.mpi.send(work_.send.data(), work_.share.bytes, other_); }
  void receive() { work_.mpi.receive(work_.receive.data(), work_.share.bytes, other_); }

 private:
  Work& work_;
  std::uint32_t other_;
};

// The same by two requests that are made once: MPI then need not look at the arguments again. The
// requests are made for one batch of samples and freed behind it, outside of every sample.
class MadeOnce {
 public:
  explicit MadeOnce(Work& work) : mpi_(work.mpi) {
    mpi_.make_send(0, work.send.data(), work.share.bytes, partner(work.share));
    mpi_.make_receive(1, work.receive.data(), work.share.bytes, partner(work.share));
  }
  ~MadeOnce() { mpi_.free_made(2); }
  MadeOnce(const MadeOnce&) = delete;
  MadeOnce& operator=(const MadeOnce&) = delete;
  void send() { run(0); }
  void receive() { run(1); }

 private:
  void run(std::size_t slot) {
    mpi_.start(slot, 1);
    mpi_.wait(slot, 1);
  }
  Calls& mpi_;
};

// The clock is read once a round trip, so that reading it is not counted twice.
template <class Messages>
void ping_pong_by(Work& work, std::span<std::uint64_t> ticks) {
  const std::uint64_t bytes = work.share.bytes;
  Messages messages(work);
  const auto send = [&] {
    work.send.stage_out(0, bytes);
    messages.send();
  };
  const auto receive = [&] {
    messages.receive();
    work.receive.stage_in(0, bytes);
  };
  if (!is_first_half(work.share)) {
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      work.begin_sample();
      receive();
      send();
    }
    return;
  }
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    send();
    receive();
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

void ping_pong(Work& work, std::span<std::uint64_t> ticks) {
  if (work.form == Form::kPersistent) return ping_pong_by<MadeOnce>(work, ticks);
  ping_pong_by<BlockingCalls>(work, ticks);
}

// Each rank of a pair gets the other one's message.
std::vector<Segment> message_of_partner(const Share& share) {
  return {{.bytes = share.bytes, .rank = partner(share)}};
}

// Blocking sends and receives. A sample is half the time from before one send to before the next.
constexpr Operation kLat{
    .name = "mpi.lat",
    .summary = "MPI latency between two ranks, half a round trip, by ping-pong",
    .meaning = "half_rtt",
    .divisor = 2,
    .requests = Requests::kOfCalls,
    .received = message_of_partner,
    .play = ping_pong,
    .revision = 2};

// Several pairs at once. A sample is the mean of the pairs' times.
constexpr Operation kMultiLat{
    .name = "mpi.multi_lat",
    .summary = "MPI latency of half of the ranks to the other half, all pairs at once",
    .meaning = "half_rtt",
    .timed = Timed::kFirstHalf,
    .divisor = 2,
    .requests = Requests::kOfCalls,
    .pair = false,
    .received = message_of_partner,
    .play = ping_pong};

// Several threads of both ranks, each with messages and a place of its own. A thread's time is that
// of its round trip; a sample is the mean over the threads. They are started for a batch, outside
// of every sample, and begin together.
void play_threads(Work& work, std::span<std::uint64_t> ticks) {
  const Share& share = work.share;
  const std::uint32_t other = partner(share);
  const auto threads = static_cast<std::uint32_t>(share.window);
  std::vector<std::vector<std::uint64_t>> own(threads);
  std::barrier begin(static_cast<std::ptrdiff_t>(threads));
  const auto round_trips = [&](std::uint32_t thread) {
    std::byte* const to = work.send.data() + share.place(thread);
    std::byte* const from = work.receive.data() + share.place(thread);
    std::vector<std::uint64_t>& its = own[thread];
    its.resize(ticks.size());
    begin.arrive_and_wait();
    std::uint64_t last = work.clock.ticks();
    for (std::uint64_t& tick : its) {
      if (!is_first_half(share)) work.mpi.receive_of_thread(from, share.bytes, other, thread);
      work.mpi.send_of_thread(to, share.bytes, other, thread);
      if (is_first_half(share)) work.mpi.receive_of_thread(from, share.bytes, other, thread);
      const std::uint64_t now = work.clock.ticks();
      tick = now - last;
      last = now;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::uint32_t thread = 1; thread < threads; ++thread)
      others.emplace_back(round_trips, thread);
    round_trips(0);
  }
  if (!is_first_half(share)) return;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    std::uint64_t sum = 0;
    for (const auto& its : own) sum += its[i];
    ticks[i] = sum / threads;
  }
}

// Needs MPI_THREAD_MULTIPLE of the library.
constexpr Operation kThreadsLat{
    .name = "mpi.threads_lat",
    .summary = "MPI latency between threads of two ranks, half a round trip, all threads at once",
    .meaning = "half_rtt",
    .divisor = 2,
    .stages = false,
    .threads = true,
    .send_bytes = a_window,
    .receive_bytes = a_window,
    .sent = own_window,
    .received = [](const Share& share) { return window_of(share, partner(share)); },
    .play = play_threads};

// --- windows ----------------------------------------------------------------------------------

// One message of a window: where it is in the area, and the rank at its other end.
struct InWindow {
  std::uint64_t at = 0;
  std::uint32_t other = 0;
};

// The messages of a rank's window, equal in every sample.
struct WindowOf {
  std::vector<InWindow> received;
  std::vector<InWindow> sent;
  // The ranks that answer this one's messages by a byte, and those that it answers.
  std::vector<std::uint32_t> answered_by;
  std::vector<std::uint32_t> answers;
};

// Adds the messages of one window with rank `other`, whose places follow `begin`.
void add_messages(const Share& share, std::uint32_t other, std::uint64_t begin,
                  std::vector<InWindow>& to) {
  for (std::uint64_t i = 0; i < share.window; ++i) to.push_back({begin + share.place(i), other});
}

// Begins and ends the requests of a sample. Receives are begun first, so that a message that is on
// its way finds its buffer. Persistent ones are made once for all samples.
class Windows {
 public:
  Windows(Work& work, const WindowOf& window)
      : work_(work), window_(window), made_(work.form == Form::kPersistent) {
    if (!made_) return;
    std::size_t slot = 0;
    for (const InWindow& one : window.received)
      work.mpi.make_receive(slot++, work.receive.data() + one.at, work.share.bytes, one.other);
    for (const InWindow& one : window.sent)
      work.mpi.make_send(slot++, work.send.data() + one.at, work.share.bytes, one.other);
  }
  ~Windows() {
    if (made_) work_.mpi.free_made(requests());
  }
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  void run() {
    Calls& mpi = work_.mpi;
    const std::uint64_t bytes = work_.share.bytes;
    std::size_t slot = 0;
    if (!made_)
      for (const InWindow& one : window_.received)
        mpi.begin_receive(slot++, work_.receive.data() + one.at, bytes, one.other);
    for (const InWindow& one : window_.sent) {
      work_.send.stage_out(one.at, bytes);
      if (!made_) mpi.begin_send(slot++, work_.send.data() + one.at, bytes, one.other);
    }
    if (made_) mpi.start(0, requests());
    mpi.wait_all(requests());
    for (const InWindow& one : window_.received) work_.receive.stage_in(one.at, bytes);
  }

 private:
  [[nodiscard]] std::size_t requests() const {
    return window_.received.size() + window_.sent.size();
  }
  Work& work_;
  const WindowOf& window_;
  bool made_;
};

// The timed loop of the kernels with a window of messages in flight. The sender's window ends at
// the receiver's one-byte answer, as in OSU's programs: the completion of a send only means that
// its buffer is free. Transfers in both directions need no answer. `together` starts each window of
// all ranks together, by a barrier outside of its time.
void play_window(Work& work, const WindowOf& window, bool together,
                 std::span<std::uint64_t> ticks) {
  Windows windows(work, window);
  char answer = 0;
  std::uint64_t last = work.clock.ticks();
  for (std::uint64_t& tick : ticks) {
    work.begin_sample();
    if (together) {
      work.mpi.barrier();
      last = work.clock.ticks();
    }
    windows.run();
    for (const std::uint32_t other : window.answered_by)
      work.mpi.receive(&answer, sizeof answer, other);
    for (const std::uint32_t other : window.answers) work.mpi.send(&answer, sizeof answer, other);
    const std::uint64_t now = work.clock.ticks();
    tick = now - last;
    last = now;
  }
}

// Between two sides, one way or both.
template <bool kBothWays, bool kTogether = false>
void play_pairs(Work& work, std::span<std::uint64_t> ticks) {
  const bool first = is_first_half(work.share);
  const std::uint32_t other = partner(work.share);
  WindowOf window;
  if (kBothWays || !first) add_messages(work.share, other, 0, window.received);
  if (kBothWays || first) add_messages(work.share, other, 0, window.sent);
  if (!kBothWays) (first ? window.answered_by : window.answers).push_back(other);
  play_window(work, window, kTogether, ticks);
}

// Both ranks send and receive a window at once. A sample is a window of rank 0 and counts both
// ways.
constexpr Operation kBibw{
    .name = "mpi.bibw",
    .summary = "MPI bandwidth between two ranks, both ways at once",
    .figure = Figure::kBandwidth,
    .meaning = "bidirectional_sum",
    .ways = 2,
    .windowed = true,
    .requests = Requests::kOfWindows,
    .sizes = "64KiB,4MiB",
    .send_bytes = a_window,
    .receive_bytes = a_window,
    .sent = own_window,
    .received = [](const Share& share) { return window_of(share, partner(share)); },
    .play = play_pairs<true>,
    .revision = 3};

// Completes the declaration of a kernel whose windows go one way.
constexpr Operation one_way(Operation own) {
  own.meaning = "unidirectional";
  own.windowed = true;
  own.requests = Requests::kOfWindows;
  own.send_bytes = [](const Share& share) { return is_first_half(share) ? a_window(share) : 0; };
  own.receive_bytes = [](const Share& share) { return is_first_half(share) ? 0 : a_window(share); };
  own.sent = [](const Share& share) {
    return is_first_half(share) ? own_window(share) : nothing(share);
  };
  own.received = [](const Share& share) {
    return is_first_half(share) ? nothing(share) : window_of(share, partner(share));
  };
  own.play = play_pairs<false>;
  own.revision = 3;
  return own;
}

// Windows of sends that do not wait, each answered by one byte whose way back is inside the time,
// as in OSU's measurement. A sample is a window.
constexpr Operation kBw =
    one_way({.name = "mpi.bw",
             .summary = "MPI bandwidth between two ranks, one way, windows of non-blocking sends",
             .figure = Figure::kBandwidth,
             .sizes = "64KiB,4MiB"});

// Several pairs at once. A sample is the mean of the pairs' times of a window and counts all pairs'
// messages, so that the rate over all samples is that of osu_mbw_mr: all messages over the mean of
// the pairs' whole times. Pairs start each window together, as there.
constexpr Operation kRate = [] {
  Operation own = one_way(
      {.name = "mpi.rate",
       .summary = "MPI messages per second of half of the ranks to the other half, all at once",
       .figure = Figure::kRate,
       .timed = Timed::kFirstHalf,
       .many = pairs_of,
       .pair = false});
  own.play = play_pairs<false, true>;
  return own;
}();

// --- congestion -------------------------------------------------------------------------------

double all_but_one(std::uint32_t ranks) { return ranks - 1.0; }
// Where the messages of rank 0 with another rank begin; the other rank has only its own. Each rank
// has a place of its own also where a window's messages share one: else the messages of several
// senders would meet in one buffer, and no content could be expected there.
std::uint64_t begin_of(const Share& share, std::uint32_t other) {
  return (other - 1) * a_window(share);
}
// Rank 0 has a window of every other rank.
std::uint64_t windows_of_first(const Share& share) {
  return share.rank == 0 ? (share.ranks - 1) * a_window(share) : a_window(share);
}
// The windows that rank 0 gets, one behind the other; `block` counts the messages of a sender.
std::vector<Segment> from_all_others(const Share& share) {
  std::vector<Segment> all;
  for (std::uint32_t other = 1; other < share.ranks; ++other)
    for (Segment one : window_of(share, other)) {
      one.offset += begin_of(share, other);
      all.push_back(one);
    }
  return all;
}
// The windows that rank 0 sends: another content for each receiver.
std::vector<Segment> to_other(const Share& share, std::uint32_t other) {
  std::vector<Segment> all = window_of(share, 0);
  for (Segment& one : all) one.block += other * share.places();
  return all;
}
// All windows that rank 0 sends, one behind the other.
std::vector<Segment> to_all_others(const Share& share) {
  std::vector<Segment> all;
  for (std::uint32_t other = 1; other < share.ranks; ++other)
    for (Segment one : to_other(share, other)) {
      one.offset += begin_of(share, other);
      all.push_back(one);
    }
  return all;
}

// Rank 0 with all others at once, in turn as OSU's programs begin the messages: the first of each
// rank, then the second.
template <bool kIn>
void play_fan(Work& work, std::span<std::uint64_t> ticks) {
  const Share& share = work.share;
  WindowOf window;
  if (share.rank != 0) {
    add_messages(share, 0, 0, kIn ? window.sent : window.received);
    (kIn ? window.answered_by : window.answers).push_back(0);
    return play_window(work, window, true, ticks);
  }
  for (std::uint64_t i = 0; i < share.window; ++i)
    for (std::uint32_t other = 1; other < share.ranks; ++other)
      (kIn ? window.received : window.sent)
          .push_back({begin_of(share, other) + share.place(i), other});
  for (std::uint32_t other = 1; other < share.ranks; ++other)
    (kIn ? window.answers : window.answered_by).push_back(other);
  play_window(work, window, true, ticks);
}

// A sample is a window of every other rank. Its time is the mean of the senders', each from its
// first message to the answer behind its last, as in OSU's program: rank 0 may leave the barrier
// when messages have come already.
constexpr Operation kFanInBw{
    .name = "mpi.fan_in_bw",
    .summary = "MPI bandwidth into one rank from all others at once",
    .figure = Figure::kBandwidth,
    .meaning = "sum_of_senders",
    .timed = Timed::kAllButFirst,
    .windowed = true,
    .requests = Requests::kOfWindows,
    .many = all_but_one,
    .pair = false,
    .sizes = "64KiB,1MiB",
    .send_bytes = [](const Share& share) { return share.rank == 0 ? 0 : a_window(share); },
    .receive_bytes =
        [](const Share& share) { return share.rank == 0 ? windows_of_first(share) : 0; },
    .sent = [](const Share& share) { return share.rank == 0 ? nothing(share) : own_window(share); },
    .received =
        [](const Share& share) {
          return share.rank == 0 ? from_all_others(share) : nothing(share);
        },
    .play = play_fan<true>};
constexpr Operation kFanOutBw{
    .name = "mpi.fan_out_bw",
    .summary = "MPI bandwidth out of one rank to all others at once",
    .figure = Figure::kBandwidth,
    .meaning = "sum_of_receivers",
    .windowed = true,
    .requests = Requests::kOfWindows,
    .many = all_but_one,
    .pair = false,
    .sizes = "64KiB,1MiB",
    .send_bytes = [](const Share& share) { return share.rank == 0 ? windows_of_first(share) : 0; },
    .receive_bytes = [](const Share& share) { return share.rank == 0 ? 0 : a_window(share); },
    .sent =
        [](const Share& share) { return share.rank == 0 ? to_all_others(share) : nothing(share); },
    .received =
        [](const Share& share) {
          return share.rank == 0 ? nothing(share) : to_other(share, share.rank);
        },
    .play = play_fan<false>};

// --- the beginning ----------------------------------------------------------------------------

void play_nothing(Work& /*work*/, std::span<std::uint64_t> /*ticks*/) {}

// MPI_Init was called before the first order; its time is each rank's only sample.
constexpr Operation kInit{.name = "mpi.init",
                          .summary = "Time of MPI_Init, of the slowest rank",
                          .meaning = "completion",
                          .timed = Timed::kAll,
                          .sized = false,
                          .once = true,
                          .pair = false,
                          .send_bytes = no_bytes,
                          .receive_bytes = no_bytes,
                          .sent = nothing,
                          .received = nothing,
                          .play = play_nothing};

}  // namespace
}  // namespace railgauge::mpi

namespace railgauge {
extern const KernelRow kMpiBibw{mpi::kRowOf<mpi::kBibw>};
extern const KernelRow kMpiBw{mpi::kRowOf<mpi::kBw>};
extern const KernelRow kMpiFanInBw{mpi::kRowOf<mpi::kFanInBw>};
extern const KernelRow kMpiFanOutBw{mpi::kRowOf<mpi::kFanOutBw>};
extern const KernelRow kMpiInit{mpi::kRowOf<mpi::kInit>};
extern const KernelRow kMpiLat{mpi::kRowOf<mpi::kLat>};
extern const KernelRow kMpiMultiLat{mpi::kRowOf<mpi::kMultiLat>};
extern const KernelRow kMpiThreadsLat{mpi::kRowOf<mpi::kThreadsLat>};
extern const KernelRow kMpiRate{mpi::kRowOf<mpi::kRate>};
}  // namespace railgauge
