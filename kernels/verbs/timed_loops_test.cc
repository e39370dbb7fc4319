// The timed loops neither allocate nor call the system. They run in a child process where any
// system call except exit is deadly.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/core/sampler.h"
#include "kernels/fakes/null_queue.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/stream/stream.h"
#include "kernels/verbs/stream/time_slots.h"

#if defined(RAILGAUGE_ADDRESS_SANITIZER) || defined(RAILGAUGE_THREAD_SANITIZER)
constexpr bool kSanitized = true;  // a sanitizer allocates and calls the system by itself
#else
constexpr bool kSanitized = false;
#endif

namespace {
std::atomic<std::uint64_t> g_allocations{0};
}  // namespace

// Not inlined: the compiler would see malloc's memory go to a delete expression and object.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++g_allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace railgauge::verbs {
namespace {

constexpr std::uint64_t kRounds = 500;
constexpr std::uint64_t kWindows = 10;
constexpr int kMaxWarmUps = 100;
constexpr double kFarNs = 10e9;

const TickClock& test_clock() {
  static const TickClock clock = TickClock::calibrate({.calibration_seconds = 0.02});
  return clock;
}

// A send queue over one that completes at once, with its waits limited as in a task.
struct Quick {
  explicit Quick(fake::NullQueue& null) {
    waiting.set_limits(test_clock(), monotonic_now_ns() + kFarNs, kFarNs);
    const std::array raw{null.queue_pair()};
    queue = SendQueue(waiting, {null.completions()}, raw);
  }
  Waiting waiting;
  SendQueue queue;
};
const std::array kOneRequest{Request{}};

// The loops over a queue that answers at once, with their waits limited as in a task.
class Loops {
 public:
  Loops() {
    round_trip_.last_out = &out_;
    round_trip_.last_in = &in_;
    round_trip_.signal_every = 3;
    // The vector of windows grows by doubling, before a batch's timed part: until it has room.
    for (int i = 0; i < kMaxWarmUps; ++i) {
      const std::uint64_t before = g_allocations;
      EXPECT_TRUE(cut_windows());
      if (g_allocations == before) return;
    }
    ADD_FAILURE() << "each batch of windows allocates";
  }

  bool play() {
    in_ = 0;
    null_.answer_in(&in_);
    const bool played =
        initiate(quick_.queue, round_trip_, ByMemory{&in_}, test_clock(), kRounds, stamps_.data());
    null_.answer_in(nullptr);
    return played;
  }
  bool complete() {
    return complete_each(quick_.queue, round_trip_, test_clock(), kRounds, stamps_.data());
  }
  bool cut_windows() { return meter_.batch(kWindows); }
  bool count_slots() {
    slots_.begin_ticks = test_clock().ticks();
    return count_in(slots_, stream_, nullptr, test_clock());
  }

  [[nodiscard]] std::uint64_t posts() const { return null_.posts(); }
  [[nodiscard]] const auto& stamps() const { return stamps_; }
  [[nodiscard]] const WindowMeter& meter() const { return meter_; }

 private:
  fake::NullQueue null_;
  Quick quick_{null_};
  RoundTrip round_trip_;
  std::uint8_t out_ = 0;
  std::uint8_t in_ = 0;
  std::array<std::uint64_t, kRounds + 1> stamps_{};
  Stream stream_{quick_.queue,
                 test_clock(),
                 kOneRequest,
                 {.depth = 128, .signal_every = 32, .post_list = 4},
                 {}};
  WindowMeter meter_{stream_, test_clock(), 64, 0};
  TimeSlots slots_{.slot_ticks = 1'000'000, .counts = std::vector<std::uint32_t>(3)};
};

// From here on any system call but exit kills this process. (Not the kernel's strict mode: that one
// forbids rdtsc as well.)
void enter_jail() {
  std::array<sock_filter, 4> rules{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_exit},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
  }};
  const sock_fprog program{rules.size(), rules.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    syscall(SYS_exit, 2);
}

class TimedLoops : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer allocates and calls the system by itself";
  }
};

TEST_F(TimedLoops, AllocateNothing) {
  Loops loops;
  const std::uint64_t before = g_allocations;
  const std::uint64_t posts_before = loops.posts();
  EXPECT_TRUE(loops.play());
  EXPECT_EQ(loops.posts() - posts_before, kRounds);
  EXPECT_TRUE(loops.complete());
  EXPECT_TRUE(loops.count_slots());
  EXPECT_EQ(g_allocations, before);
  EXPECT_GT(loops.stamps().back(), loops.stamps().front());
}

// With the sampler that asks for the batches, as a kernel has it: from the first post on.
struct FixedRun {
  static constexpr std::uint64_t kWrites = 64'000;
  fake::NullQueue null;
  Quick quick{null};
  Stream stream{quick.queue,
                test_clock(),
                kOneRequest,
                {.depth = 128, .signal_every = 32, .writes = kWrites},
                {}};
  WindowMeter meter{stream, test_clock(), 32, kWrites};
  // The counter's values when the first batch began and when the last one ended.
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  // `jailed`: leaves the process with the last window, 0 where all were cut.
  bool run(bool jailed = false) {
    Sampler sampler(test_clock(), {.fixed_samples = kWrites / 32, .warm_up = false, .batch = 10});
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      if (null.posts() == 0) {
        before = g_allocations;
        if (jailed) enter_jail();
      }
      if (!meter.batch(count)) return fail(Code::kInternal, "the queue failed");
      for (const Window& window : meter.last(count))
        out.push_back(static_cast<double>(window.ticks));
      after = g_allocations;
      if (jailed && out.size() == kWrites / 32) syscall(SYS_exit, 0);
      return {};
    };
    const auto sampled = sampler.run(batch);
    return sampled && sampled->samples.size() == kWrites / 32;
  }
};

TEST_F(TimedLoops, AllocateNothingFromTheFirstPostOfAFixedNumberToTheLast) {
  FixedRun fixed;
  EXPECT_TRUE(fixed.run());
  EXPECT_EQ(fixed.null.posts(), FixedRun::kWrites);
  EXPECT_EQ(fixed.after, fixed.before);
}

// Windows last 100 ticks: a wait of up to twice that is the stream's own way to a completion.
TEST(Windows, TakeInAWaitBeforeThemThatIsAPause) {
  EXPECT_EQ(window_begin(1'000, 1'150, 100), 1'150U);
  EXPECT_EQ(window_begin(1'000, 1'200, 100), 1'200U);
  EXPECT_EQ(window_begin(1'000, 1'201, 100), 1'000U);
  EXPECT_EQ(window_begin(1'000, 90'000, 0), 90'000U) << "no window is known yet";
}

TEST_F(TimedLoops, AnOpenWindowIsGivenUpWhereRoomMustBeMade) {
  fake::NullQueue null;
  Quick quick(null);
  Stream stream(quick.queue, test_clock(), kOneRequest, {.depth = 128, .signal_every = 32}, {});
  WindowMeter meter(stream, test_clock(), 64, 0);
  ASSERT_TRUE(meter.batch(1));
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t allocations = g_allocations;
    const std::uint64_t posts = null.posts();
    ASSERT_TRUE(meter.batch(1));
    if (g_allocations == allocations) continue;
    // The posts up to the completion that begins the next window are in none.
    EXPECT_GT(null.posts() - posts, meter.last(1).front().writes);
    return;
  }
  ADD_FAILURE() << "no batch needed room";
}

TEST_F(TimedLoops, CallTheSystemNeverWhereTheCounterIsTheClock) {
  if (std::string_view(test_clock().source()) != TickClock::kCounterName)
    GTEST_SKIP() << test_clock().fallback_reason();
  Loops balls;  // each loop has a queue to itself, as in a kernel
  Loops windows;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    enter_jail();
    const bool well =
        balls.play() && balls.complete() && windows.cut_windows() && windows.count_slots();
    syscall(SYS_exit, well ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFSIGNALED(status))
      << "a system call in a timed loop: " << strsignal(WTERMSIG(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TimedLoops, CallTheSystemNeverBetweenTheBatchesOfASamplerEither) {
  if (std::string_view(test_clock().source()) != TickClock::kCounterName)
    GTEST_SKIP() << test_clock().fallback_reason();
  FixedRun fixed;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    fixed.run(true);
    syscall(SYS_exit, 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFSIGNALED(status))
      << "a system call while a window was open: " << strsignal(WTERMSIG(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TimedLoops, TheJailWouldNoticeASystemCall) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    enter_jail();
    syscall(SYS_getppid);
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(WindowMeter, CountsEachWriteOfAFixedNumberOnce) {
  for (const std::uint64_t writes : {1U, 31U, 32U, 33U, 250U, 333U}) {
    fake::NullQueue null;
    Quick quick(null);
    Stream stream(quick.queue, test_clock(), kOneRequest,
                  {.depth = 128, .signal_every = 32, .writes = writes}, {});
    WindowMeter meter(stream, test_clock(), 32, writes);
    const std::uint64_t windows = (writes + 31) / 32;
    ASSERT_TRUE(meter.batch(1));
    ASSERT_TRUE(meter.batch(windows - 1));
    std::uint64_t counted = 0;
    for (const Window& window : meter.last(windows)) counted += window.writes;
    EXPECT_EQ(counted, writes);
    EXPECT_EQ(null.posts(), writes);
    EXPECT_EQ(quick.queue.in_flight(), 0U);
  }
}

TEST(WindowMeter, AnOpenEndedWindowHoldsAtLeastItsWrites) {
  Loops loops;
  for (const Window& window : loops.meter().last(kWindows)) {
    EXPECT_GE(window.writes, 64U);
    EXPECT_GT(window.ticks, 0U);
  }
}

TEST(Stream, SmallMessagesMoveThroughTheAreaAndComeBack) {
  struct Seen {
    ibv_context context{};
    ibv_qp qp{};
    std::vector<std::uint64_t> addresses;
  } seen;
  seen.context.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr**) {
    static_cast<Seen*>(qp->qp_context)->addresses.push_back(wr->wr.rdma.remote_addr);
    return 0;
  };
  seen.qp.context = &seen.context;
  seen.qp.qp_context = &seen;
  Waiting waiting;
  const std::array raw{&seen.qp};
  SendQueue queue(waiting, {}, raw);
  std::array<Request, 1> requests{};
  requests[0].sge.length = 100;  // two cache lines
  Stream stream(queue, test_clock(), requests, {.depth = 5, .signal_every = 5},
                {.slots = slots_in(512, requests[0].sge.length)});
  ASSERT_TRUE(stream.top_up());
  EXPECT_EQ(seen.addresses, (std::vector<std::uint64_t>{0, 128, 256, 384, 0}));
}

TEST(Stream, GoesOnWithTheRenewedContentInFullFlow) {
  struct Seen {
    ibv_context context{};
    ibv_qp qp{};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> moves;  // from here to there
  };
  for (const bool is_read : {false, true}) {
    Seen seen;
    seen.context.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr**) {
      auto& moves = static_cast<Seen*>(qp->qp_context)->moves;
      moves.emplace_back(wr->sg_list->addr, wr->wr.rdma.remote_addr);
      return 0;
    };
    seen.qp.context = &seen.context;
    seen.qp.qp_context = &seen;
    Waiting waiting;
    const std::array raw{&seen.qp};
    SendQueue queue(waiting, {}, raw);
    std::array<Request, 1> requests{};
    requests[0].sge.length = 100;  // two cache lines
    Stream stream(queue, test_clock(), requests, {.depth = 3, .signal_every = 3},
                  {.slots = slots_in(512, requests[0].sge.length),
                   .renewed_here = is_read ? 0 : kRenewedBytes,
                   .renewed_there = is_read ? kRenewedBytes : 0});
    ASSERT_TRUE(stream.top_up());
    EXPECT_EQ(stream.fewest_renewed(), 0U);
    stream.renew();
    EXPECT_EQ(stream.fewest_renewed(), 0U);
    EXPECT_EQ(stream.slots_written(), 3U);
    queue.lane(0).in_flight = 1;  // as after the first two's completion
    ASSERT_TRUE(stream.top_up());
    const std::uint64_t here = is_read ? 0 : kRenewedBytes;
    const std::uint64_t there = kRenewedBytes - here;
    EXPECT_EQ(seen.moves,
              (decltype(seen.moves){
                  {0, 0}, {128, 128}, {256, 256}, {here, there}, {128 + here, 128 + there}}));
    EXPECT_EQ(stream.posted(), 5U);
    EXPECT_EQ(stream.fewest_renewed(), 2U);
    EXPECT_EQ(stream.slots_written(), 3U);
  }
}

TEST(Stream, EndsWithAnEmptyQueueAlsoWhereAGroupHasNoCompletion) {
  fake::NullQueue null;
  Quick quick(null);
  Stream stream(quick.queue, test_clock(), kOneRequest, {.depth = 10, .signal_every = 4},
                {.slots = slots_in(4096, 64)});
  ASSERT_TRUE(stream.top_up());
  EXPECT_EQ(stream.slots_written(), 10U);
  ASSERT_TRUE(stream.finish());
  EXPECT_EQ(quick.queue.in_flight(), 0U);
  EXPECT_EQ(null.posts(), 11U);  // two had no completion
  EXPECT_EQ(stream.slots_written(), 11U);
}

TEST(Stream, SpreadsAFixedNumberOverItsLanesInChainsAndEachLaneEndsWithACompletion) {
  struct Seen {
    ibv_context context{};
    std::array<ibv_qp, 3> qps{};
    std::array<std::vector<std::pair<std::uint64_t, bool>>, 3> posts;  // address, signalled
    std::vector<std::size_t> calls;
  } seen;
  seen.context.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr**) {
    auto& all = *static_cast<Seen*>(qp->qp_context);
    std::size_t chain = 0;
    for (; wr != nullptr; wr = wr->next, ++chain)
      all.posts[qp->qp_num].emplace_back(wr->sg_list->addr,
                                         (wr->send_flags & IBV_SEND_SIGNALED) != 0);
    all.calls.push_back(chain);
    return 0;
  };
  std::array<ibv_qp*, 3> raw{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    seen.qps[i].context = &seen.context;
    seen.qps[i].qp_context = &seen;
    seen.qps[i].qp_num = i;
    raw[i] = &seen.qps[i];
  }
  Waiting waiting;
  SendQueue queue(waiting, {}, raw);
  const std::array<Request, 3> requests{};
  Stream stream(queue, test_clock(), requests,
                {.depth = 8, .signal_every = 2, .post_list = 3, .writes = 11},
                {.slots = {.bytes = 8, .stride_bytes = 64, .count = 2}, .each_lane_its_own = true});
  ASSERT_TRUE(stream.top_up());
  using Posts = std::vector<std::pair<std::uint64_t, bool>>;
  EXPECT_EQ(seen.posts[0], (Posts{{0, false}, {64, true}, {0, false}, {64, true}}));
  EXPECT_EQ(seen.posts[1], (Posts{{128, false}, {192, true}, {128, false}, {192, true}}));
  EXPECT_EQ(seen.posts[2], (Posts{{256, false}, {320, true}, {256, true}}));
  EXPECT_EQ(seen.calls, (std::vector<std::size_t>{3, 1, 3, 1, 3}));
  EXPECT_EQ(stream.posted(), 11U);
  EXPECT_EQ(queue.awaited(), 11U);
}

TEST(Stream, CompletesEveryAskedForPostWhereverItIsInAChain) {
  constexpr std::uint64_t kDepth = 24;
  constexpr std::uint64_t kLists = 7;
  for (const auto& [list, signal_every] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{2, 1}, {4, 3}, {3, 7}, {5, 5}}) {
    struct Seen {
      ibv_context context{};
      ibv_qp qp{};
      std::uint64_t posts = 0;
      std::vector<std::pair<std::uint64_t, std::uint64_t>> signalled;  // number of the post, its id
    } seen;
    seen.context.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr**) {
      auto& all = *static_cast<Seen*>(qp->qp_context);
      for (; wr != nullptr; wr = wr->next) {
        ++all.posts;
        if ((wr->send_flags & IBV_SEND_SIGNALED) != 0)
          all.signalled.emplace_back(all.posts, wr->wr_id);
        EXPECT_NE(wr->send_flags & IBV_SEND_INLINE, 0U) << "the request's own flag";
      }
      return 0;
    };
    seen.qp.context = &seen.context;
    seen.qp.qp_context = &seen;
    Waiting waiting;
    const std::array raw{&seen.qp};
    SendQueue queue(waiting, {}, raw);
    std::array<Request, 1> requests{};
    requests[0].flags = IBV_SEND_INLINE;
    const std::uint64_t writes = kLists * list + 1;
    Stream stream(
        queue, test_clock(), requests,
        {.depth = kDepth * list, .signal_every = signal_every, .post_list = list, .writes = writes},
        {});
    ASSERT_TRUE(stream.top_up());
    EXPECT_EQ(seen.posts, writes);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
    for (std::uint64_t post = signal_every; post <= writes; post += signal_every)
      expected.emplace_back(post, signal_every);
    if (writes % signal_every != 0) expected.emplace_back(writes, writes % signal_every);
    EXPECT_EQ(seen.signalled, expected) << list << " in a chain, one of " << signal_every;
    EXPECT_EQ(queue.awaited(), writes);
    EXPECT_EQ(queue.lane(0).unsignalled, 0U);
  }
}

TEST(Slots, OneSourceHasTheContentOfBeforeAndAfterTheRenewal) {
  auto memory = Memory::allocate({}, 4 * kRenewedBytes);
  ASSERT_TRUE(memory);
  const Area area{*memory, 0};
  const Compared compared{"here", "write"};
  for (const std::size_t bytes : {64UL, 2 * kRenewedBytes + 5}) {
    const Slots before = slots_in(kRenewedBytes, bytes);
    Slots after = before;
    after.is_renewed = true;
    after.offset_bytes = kRenewedBytes;
    ASSERT_TRUE(fill_slots(area, before, 3, 1));
    ASSERT_TRUE(fill_slots(area, after, 3, 1));
    EXPECT_TRUE(verify_slots(area, before, 3, 1, 0, compared)) << "not overwritten";
    EXPECT_TRUE(verify_slots(area, after, 3, 1, 0, compared));
    after.offset_bytes = 0;
    EXPECT_FALSE(verify_slots(area, after, 3, 1, 0, compared)) << "another content";
    after.old_from = 1;
    EXPECT_FALSE(verify_slots(area, after, 3, 1, 0, compared)) << "the first slot is an old one";
    after.old_from = 0;
    EXPECT_TRUE(verify_slots(area, after, 3, 1, 0, compared));
    ASSERT_TRUE(memory->clear(0, bytes));
    EXPECT_FALSE(verify_slots(area, after, 3, 1, 0, compared)) << "neither one";
  }
}

TEST(Slots, OfALargeRingFollowFromTheirPlaces) {
  constexpr std::size_t kRing = 16 * kHotRingBytes;
  auto memory = Memory::allocate({}, kRing + kRenewedBytes);
  ASSERT_TRUE(memory);
  const Area area{*memory, 0};
  const Compared compared{"here", "write"};
  for (const std::size_t bytes : {8UL, 64UL, 100UL, 5000UL}) {
    const Slots slots = slots_in(kRing, bytes, 0, kRing);
    EXPECT_EQ(slots.count, kRing / slots.stride_bytes);
    ASSERT_TRUE(fill_slots(area, slots, 3, 1));
    EXPECT_TRUE(verify_slots(area, slots, 3, 1, 0, compared));
    // One message on: each of the others is in a wrong place.
    const Area next{*memory, slots.stride_bytes};
    Slots fewer = slots;
    --fewer.count;
    EXPECT_FALSE(verify_slots(next, fewer, 3, 1, 0, compared));
    Slots after = slots;
    after.is_renewed = true;
    after.offset_bytes = kRenewedBytes;
    ASSERT_TRUE(fill_slots(area, after, 3, 1));
    EXPECT_TRUE(verify_slots(area, after, 3, 1, 0, compared));
    EXPECT_TRUE(verify_slots(area, slots, 3, 1, 0, compared)) << "not overwritten";
    ASSERT_TRUE(memory->clear(slots.stride_bytes * (slots.count - 1), 8));
    EXPECT_FALSE(verify_slots(area, slots, 3, 1, 0, compared)) << "the last slot";
    ASSERT_TRUE(clear_slots(area, slots));
    EXPECT_EQ(memory->span()[0], std::byte{0});
  }
}

TEST(Slots, AreTheSameForAllPageSizes) {
  constexpr std::size_t kSmallPage = 4096;
  constexpr std::size_t kLargePage = 65536;
  for (const std::size_t bytes : {1U, 64U, 65U, 2048U}) {
    EXPECT_EQ(slots_in(kSmallPage, bytes).count, slots_in(kLargePage, bytes).count);
    const Slots slots = slots_in(kLargePage, bytes);
    EXPECT_LE((slots.count - 1) * slots.stride_bytes + bytes, kSmallPage);
    EXPECT_GE(slots.count, 2U);
  }
  EXPECT_EQ(slots_in(kLargePage, 2049).count, 1U);
}

}  // namespace
}  // namespace railgauge::verbs
