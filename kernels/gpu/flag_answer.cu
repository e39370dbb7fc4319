// A GPU that answers flags: one thread polls a word of its own memory, which the CPU writes through
// the BAR or a NIC from elsewhere, and answers into pinned host memory, which the CPU polls. No
// header is used, so that the PTX stays old.
//
// clang-format off
// extern "C" __global__ void railgauge_answer_flags(
//     const volatile unsigned* flag,     GPU memory: gets `first`, `first` + 1, ... in turn
//     volatile unsigned* answer,         pinned host memory: gets `first` - 1 when the thread runs, then each value
//                                        of `flag` in turn
//     const volatile unsigned* stop,     pinned host memory: not 0 ends the kernel
//     unsigned first, unsigned rounds,   it ends after the answer `first` + `rounds` - 1
//     unsigned long long idle_cycles)    it ends when the flag did not come for so many clock cycles
//
// extern "C" __global__ void railgauge_answer_gated(
//     const volatile unsigned* gate,     pinned host memory: the CPU lets the thread on to `first`, `first` + 1, ...
//     const volatile unsigned* flag,     GPU memory: holds the same by then, or the message before is still seen
//     volatile unsigned* answer,         as above
//     volatile unsigned* stale,          pinned host memory: counts the looks at `flag` that saw another value
//     stop, first, rounds, idle_cycles)  as above
// clang-format on
// One block of one thread. It always ends: by the rounds, by `stop`, or by the clock.

namespace {

// Between two looks at `stop` and the clock: a look at host memory costs a trip over PCIe.
constexpr unsigned kPollsBetweenLooks = 4096;

// Until `*word` is `expected`; false when the kernel shall end before.
__device__ bool wait_for(const volatile unsigned* word, unsigned expected,
                         const volatile unsigned* stop, unsigned long long idle_cycles) {
  const long long begin = clock64();
  unsigned polls = 0;
  while (*word != expected) {
    if (++polls < kPollsBetweenLooks) continue;
    polls = 0;
    if (*stop != 0) return false;
    if (static_cast<unsigned long long>(clock64() - begin) >= idle_cycles) return false;
  }
  return true;
}

}  // namespace

extern "C" __global__ void railgauge_answer_flags(const volatile unsigned* flag,
                                                  volatile unsigned* answer,
                                                  const volatile unsigned* stop, unsigned first,
                                                  unsigned rounds, unsigned long long idle_cycles) {
  *answer = first - 1;
  for (unsigned round = 0; round < rounds; ++round) {
    if (!wait_for(flag, first + round, stop, idle_cycles)) return;
    *answer = first + round;
  }
}

extern "C" __global__ void railgauge_answer_gated(const volatile unsigned* gate,
                                                  const volatile unsigned* flag,
                                                  volatile unsigned* answer,
                                                  volatile unsigned* stale,
                                                  const volatile unsigned* stop, unsigned first,
                                                  unsigned rounds, unsigned long long idle_cycles) {
  unsigned wrong = 0;
  *answer = first - 1;
  for (unsigned round = 0; round < rounds; ++round) {
    if (!wait_for(gate, first + round, stop, idle_cycles)) return;
    __threadfence_system();  // the flag is looked at after the gate
    if (*flag != first + round) *stale = ++wrong;
    __threadfence_system();  // the count is there before the answer
    *answer = first + round;
  }
}
