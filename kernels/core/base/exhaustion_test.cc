#include "kernels/core/base/exhaustion.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

#if !defined(RAILGAUGE_ADDRESS_SANITIZER) && !defined(RAILGAUGE_THREAD_SANITIZER)

constexpr std::size_t kMegabyte = 1U << 20U;

// In a child: the address space may grow no further than to `bytes` in all.
void limit_space(rlim_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

// Asks for memory until there is none, as a leak does.
void use_up(std::size_t step) {
  for (;;) {
    auto* leaked = new char[step];
    leaked[0] = 1;
    asm volatile("" : : "r"(leaked) : "memory");
  }
}

TEST(ExhaustionDeathTest, AFailedAllocationEndsTheProcessWithOneLine) {
  EXPECT_EXIT(
      {
        end_when_exhausted("program");
        limit_space(64 * kMegabyte);
        use_up(kMegabyte);
      },
      testing::KilledBySignal(SIGABRT), "^program: memory: an allocation failed; [^\n]*\n$");
}

TEST(ExhaustionDeathTest, WhatIsTooLargeIsAnErrorWhereItMayFailAndTheProcessWorksOn) {
  EXPECT_EXIT(
      {
        end_when_exhausted("program");
        limit_space(256 * kMegabyte);
        bool has_failed = false;
        try {
          const MayFail may_fail;
          EXPECT_FALSE(ends_when_exhausted());
          const auto large = std::make_unique<char[]>(512 * kMegabyte);
        } catch (const std::bad_alloc&) {
          has_failed = true;
        }
        std::_Exit(has_failed && ends_when_exhausted() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^$");
}

// Small allocations that fail leave nothing to handle the error with.
TEST(ExhaustionDeathTest, WithoutAMegabyteTheProcessEndsAlsoWhereItMayFail) {
  EXPECT_EXIT(
      {
        end_when_exhausted("program");
        limit_space(64 * kMegabyte);
        const MayFail may_fail;
        use_up(1024);
      },
      testing::KilledBySignal(SIGABRT), "^program: memory: an allocation failed; [^\n]*\n$");
}

// gRPC's gpr_malloc() aborts; where it calls malloc() itself, it writes through what it got.
TEST(ExhaustionDeathTest, AnAbortOrCrashWithoutMemorySaysSoAndAnotherDoesNot) {
  EXPECT_EXIT(
      {
        end_when_exhausted("program");
        limit_space(kMegabyte);
        void* volatile nowhere = nullptr;
        *static_cast<volatile char*>(nowhere) = 1;
      },
      testing::KilledBySignal(SIGSEGV), "^program: memory: a library's allocation failed; ");
  EXPECT_EXIT(
      {
        end_when_exhausted("program");
        limit_space(kMegabyte);
        std::abort();
      },
      testing::KilledBySignal(SIGABRT), "^program: memory: a library's allocation failed; ");
  EXPECT_EXIT(
      {
        end_when_exhausted("program");
        std::abort();
      },
      testing::KilledBySignal(SIGABRT), "^$");
}

#endif

TEST(Exhaustion, AProgramThatDoesNotAskForItDoesNotEnd) { EXPECT_FALSE(ends_when_exhausted()); }

}  // namespace
}  // namespace railgauge
