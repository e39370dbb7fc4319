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
// clang-format on
// One block of one thread. It always ends: by the rounds, by `stop`, or by the clock.

namespace {

// Between two looks at `stop` and the clock: a look at host memory costs a trip over PCIe.
constexpr unsigned kPollsBetweenLooks = 4096;

}  // namespace

extern "C" __global__ void railgauge_answer_flags(const volatile unsigned* flag,
                                                  volatile unsigned* answer,
                                                  const volatile unsigned* stop, unsigned first,
                                                  unsigned rounds, unsigned long long idle_cycles) {
  *answer = first - 1;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned expected = first + round;
    const long long begin = clock64();
    unsigned polls = 0;
    while (*flag != expected) {
      if (++polls < kPollsBetweenLooks) continue;
      polls = 0;
      if (*stop != 0) return;
      if (static_cast<unsigned long long>(clock64() - begin) >= idle_cycles) return;
    }
    *answer = expected;
  }
}
