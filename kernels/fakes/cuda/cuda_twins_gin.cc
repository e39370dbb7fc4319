// Native twins of kernels/nccl/gin/gin.cu: same order of arguments, a cycle is a nanosecond.
#include <array>
#include <chrono>
#include <string_view>
#include <thread>

#include "kernels/fakes/cuda/cuda_objects.h"
#include "kernels/fakes/cuda/fake_gin.h"

namespace railgauge::fake {
namespace {

using GinWord = unsigned long long;

constexpr GinWord kFirstHeadersWithGet = 23'003;
constexpr GinWord kWipedWord = 0xa5a5a5a5a5a5a5a5;

GinWord gin_now_ns() {
  return static_cast<GinWord>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct GinRound {
  const GinComm* comm = nullptr;
  unsigned char* window = nullptr;  // this rank's memory
  GinWord bytes = 0;
  const unsigned* stop = nullptr;
  GinWord idle_cycles = 0;
};

bool wait_for_signal(const GinRound& round, GinWord due) {
  const GinWord begin = gin_now_ns();
  while (round.comm->signals(round.comm->world, round.comm->rank) < due) {
    if (__atomic_load_n(round.stop, __ATOMIC_ACQUIRE) != 0) return false;
    if (gin_now_ns() - begin >= round.idle_cycles) return false;
    std::this_thread::yield();
  }
  return true;
}

volatile GinWord* gin_word(const GinRound& round, GinWord place) {
  return reinterpret_cast<volatile GinWord*>(round.window + place);
}

std::function<void()> gin_about(const Launch& launch) {
  auto* about = launch.argument<GinWord*>(0);
  const auto* comm = launch.argument<const GinComm*>(1);
  return [=] {
    about[0] = cuda_control().gin_headers;
    about[1] = sizeof(GinComm);
    about[2] = about[0] >= kFirstHeadersWithGet ? 1 : 0;
    if (comm != nullptr) about[3] = comm->kind;
  };
}

std::function<void()> gin_ring(const Launch& launch) {
  const GinRound round{.comm = launch.argument<const GinComm*>(0),
                       .window = launch.argument<unsigned char*>(1),
                       .bytes = launch.argument<GinWord>(4),
                       .stop = launch.argument<const unsigned*>(10),
                       .idle_cycles = launch.argument<GinWord>(11)};
  const auto send = launch.argument<GinWord>(2);
  const auto receive = launch.argument<GinWord>(3);
  const auto first = launch.argument<GinWord>(5);
  const auto rounds = launch.argument<unsigned>(6);
  const bool numbered = launch.argument<unsigned>(7) != 0;
  auto* cycles = launch.argument<GinWord*>(8);
  auto* found = launch.argument<GinWord*>(9);
  return [=] {
    const GinComm& comm = *round.comm;
    const int next = (comm.rank + 1) % comm.ranks;
    const bool leads = comm.rank == 0;
    const GinWord last = round.bytes - sizeof(GinWord);
    GinWord wrong = 0;
    GinWord done = 0;
    found[2] = found[3] = gin_now_ns();
    for (; done < rounds; ++done) {
      const GinWord due = first + done + 1;
      if (leads && numbered) {
        *gin_word(round, send) = due;
        *gin_word(round, send + last) = due;
      }
      const GinWord begin = gin_now_ns();
      if (leads) comm.put(comm.world, comm.rank, next, receive, send, round.bytes);
      if (!wait_for_signal(round, due)) break;
      if (leads) cycles[done] = gin_now_ns() - begin;
      if (numbered && (*gin_word(round, receive) != due || *gin_word(round, receive + last) != due))
        ++wrong;
      if (!leads) comm.put(comm.world, comm.rank, next, receive, receive, round.bytes);
    }
    found[4] = found[5] = gin_now_ns() + 1;
    found[0] = done;
    found[1] = wrong;
    found[6] = comm.signals(comm.world, comm.rank);
  };
}

std::function<void()> gin_get(const Launch& launch) {
  const GinRound round{.comm = launch.argument<const GinComm*>(0),
                       .window = launch.argument<unsigned char*>(1),
                       .bytes = launch.argument<GinWord>(5)};
  const auto remote = launch.argument<GinWord>(2);
  const auto local = launch.argument<GinWord>(3);
  const auto stride = launch.argument<GinWord>(4);
  const auto first = launch.argument<GinWord>(6);
  const auto rounds = launch.argument<unsigned>(7);
  auto* cycles = launch.argument<GinWord*>(8);
  auto* found = launch.argument<GinWord*>(9);
  return [=] {
    const GinComm& comm = *round.comm;
    GinWord wrong = 0;
    found[2] = found[3] = gin_now_ns();
    for (GinWord done = 0; done < rounds; ++done) {
      const GinWord giver = (first + done) % static_cast<GinWord>(comm.ranks - 1);
      const GinWord place = local + giver * stride;
      volatile GinWord* const begins = gin_word(round, place);
      volatile GinWord* const ends = gin_word(round, place + round.bytes - sizeof(GinWord));
      *begins = kWipedWord;
      *ends = kWipedWord;
      const GinWord begin = gin_now_ns();
      comm.get(comm.world, comm.rank, static_cast<int>(1 + giver), remote, place, round.bytes);
      cycles[done] = gin_now_ns() - begin;
      if (*begins == kWipedWord || *ends == kWipedWord) ++wrong;
    }
    found[4] = found[5] = gin_now_ns() + 1;
    found[0] = rounds;
    found[1] = wrong;
  };
}

std::array g_gin_functions{cu::FunctionObject{"railgauge_gin_about", gin_about},
                           cu::FunctionObject{"railgauge_gin_ring", gin_ring},
                           cu::FunctionObject{"railgauge_gin_get", gin_get}};

}  // namespace

cu::Function gin_twin_named(std::string_view name) {
  for (cu::FunctionObject& function : g_gin_functions)
    if (name == function.name) return &function;
  return nullptr;
}

}  // namespace railgauge::fake
