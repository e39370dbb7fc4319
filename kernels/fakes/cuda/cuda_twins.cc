// Native twins of our device functions: same work as the .cu files, same order of arguments.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

using Word = unsigned long long;

Word pattern_word(Word seed, Word index) {
  Word mixed = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

// kernels/gpu/pattern.cu

std::function<void()> fill(const Launch& launch) {
  auto* out = launch.argument<Word*>(0);
  const auto words = launch.argument<Word>(1);
  const auto tail_bytes = launch.argument<unsigned>(2);
  const auto seed = launch.argument<Word>(3);
  return [=] {
    for (Word i = 0; i < words; ++i) out[i] = pattern_word(seed, i);
    const Word last = pattern_word(seed, words);
    std::memcpy(out + words, &last, tail_bytes);
  };
}

std::function<void()> compare(const Launch& launch) {
  const auto* in = launch.argument<const Word*>(0);
  const auto words = launch.argument<Word>(1);
  const auto tail_bytes = launch.argument<unsigned>(2);
  const auto seed = launch.argument<Word>(3);
  auto* first_wrong = launch.argument<unsigned*>(4);
  return [=] {
    Word wrong = 0xffffffffU;
    for (Word i = 0; i < words && wrong == 0xffffffffU; ++i)
      if (in[i] != pattern_word(seed, i)) wrong = i;
    const Word last = pattern_word(seed, words);
    if (wrong == 0xffffffffU && std::memcmp(in + words, &last, tail_bytes) != 0) wrong = words;
    *first_wrong = std::min(*first_wrong, static_cast<unsigned>(wrong));
  };
}

// kernels/gpu/flag_answer.cu

// Waits until `*word` is `expected`; false when the kernel must end before. Makes overdue held-back
// writes visible meanwhile.
bool wait_for(const unsigned* word, unsigned expected, const unsigned* stop, Word idle_cycles) {
  const auto begin = std::chrono::steady_clock::now();
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != expected) {
    if (__atomic_load_n(stop, __ATOMIC_ACQUIRE) != 0) return false;
    const auto idle = std::chrono::steady_clock::now() - begin;
    // One cycle is a nanosecond here.
    if (idle >= std::chrono::nanoseconds(static_cast<std::int64_t>(idle_cycles))) return false;
    settle_overdue_writes();
    std::this_thread::yield();  // there may be fewer processors than threads
  }
  return true;
}

std::function<void()> answer_flags(const Launch& launch) {
  const auto* flag = launch.argument<const unsigned*>(0);
  auto* answer = launch.argument<unsigned*>(1);
  const auto* stop = launch.argument<const unsigned*>(2);
  const auto first = launch.argument<unsigned>(3);
  const auto rounds = launch.argument<unsigned>(4);
  const auto idle_cycles = launch.argument<Word>(5);
  return [=] {
    __atomic_store_n(answer, first - 1, __ATOMIC_RELEASE);
    for (unsigned round = 0; round < rounds; ++round) {
      if (!wait_for(flag, first + round, stop, idle_cycles)) return;
      __atomic_store_n(answer, first + round, __ATOMIC_RELEASE);
    }
  };
}

std::function<void()> answer_gated(const Launch& launch) {
  const auto* gate = launch.argument<const unsigned*>(0);
  const auto* flag = launch.argument<const unsigned*>(1);
  auto* answer = launch.argument<unsigned*>(2);
  auto* stale = launch.argument<unsigned*>(3);
  const auto* stop = launch.argument<const unsigned*>(4);
  const auto first = launch.argument<unsigned>(5);
  const auto rounds = launch.argument<unsigned>(6);
  const auto idle_cycles = launch.argument<Word>(7);
  return [=] {
    unsigned wrong = 0;
    __atomic_store_n(answer, first - 1, __ATOMIC_RELEASE);
    for (unsigned round = 0; round < rounds; ++round) {
      if (!wait_for(gate, first + round, stop, idle_cycles)) return;
      if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != first + round)
        __atomic_store_n(stale, ++wrong, __ATOMIC_RELEASE);
      __atomic_store_n(answer, first + round, __ATOMIC_RELEASE);
    }
  };
}

std::function<void()> pass_data(const Launch& launch) {
  const auto* flag = launch.argument<const unsigned*>(0);
  auto* answer = launch.argument<unsigned*>(1);
  const auto* stop = launch.argument<const unsigned*>(2);
  auto* data = launch.argument<volatile unsigned*>(3);
  const auto words = launch.argument<unsigned>(4);
  const auto writes = launch.argument<unsigned>(5);
  auto* wrong = launch.argument<unsigned*>(6);
  const auto first = launch.argument<unsigned>(7);
  const auto rounds = launch.argument<unsigned>(8);
  const auto idle_cycles = launch.argument<Word>(9);
  return [=] {
    unsigned differed = 0;
    __atomic_store_n(answer, first - 1, __ATOMIC_RELEASE);
    for (unsigned round = 0; round < rounds; ++round) {
      const unsigned value = first + round;
      if (!wait_for(flag, value, stop, idle_cycles)) return;
      for (unsigned index = 0; index < words; ++index) {
        const unsigned expected = (value % 64 * 16 + index + 1) * 2654435761U;
        if (writes != 0)
          data[index] = expected;
        else if (data[index] != expected)
          ++differed;
      }
      __atomic_store_n(wrong, differed, __ATOMIC_RELEASE);
      __atomic_store_n(answer, value, __ATOMIC_RELEASE);
    }
  };
}

// kernels/cuda/route/copy.cu

constexpr Word kUnitBytes = 512;

std::function<void()> copy(const Launch& launch) {
  const auto to = launch.argument<std::uintptr_t>(0);
  const auto from = launch.argument<std::uintptr_t>(1);
  const auto bytes = launch.argument<Word>(2);
  return [=] { copy_bytes(to, from, bytes); };
}

// Moving each word several times leaves the same bytes as moving it once.
std::function<void()> copy_both(const Launch& launch) {
  const auto a = launch.argument<std::uintptr_t>(0);
  const auto b = launch.argument<std::uintptr_t>(1);
  const auto bytes = launch.argument<Word>(2);
  return [=] {
    for (Word at = 0; at < bytes; at += kUnitBytes) {
      const bool odd = at / kUnitBytes % 2 != 0;
      copy_bytes((odd ? b : a) + at, (odd ? a : b) + at, std::min(kUnitBytes, bytes - at));
    }
  };
}

std::function<void()> clear_units(const Launch& launch) {
  auto* memory = launch.argument<unsigned char*>(0);
  const auto bytes = launch.argument<Word>(1);
  const auto parity = launch.argument<unsigned>(2);
  return [=] {
    for (Word at = 0; at < bytes; at += kUnitBytes)
      if (at / kUnitBytes % 2 == parity)
        std::memset(memory + at, 0, std::min(kUnitBytes, bytes - at));
  };
}

// kernels/cuda/chase.cu

std::function<void()> chase(const Launch& launch) {
  auto* state = launch.argument<std::uintptr_t*>(0);
  const auto accesses = launch.argument<unsigned>(1);
  const auto block = launch.argument<unsigned>(2);
  const bool nobody = block >= launch.blocks;
  return [=] {
    if (nobody) return;
    std::uintptr_t at = *state;
    const unsigned steps = accesses + (cuda_control().flip_byte != 0 ? 1 : 0);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a word of the chain is the next one's address
    for (unsigned i = 0; i < steps; ++i) at = *reinterpret_cast<const std::uintptr_t*>(at);
    *state = at;
  };
}

std::array g_functions{cu::FunctionObject{"railgauge_fill", fill},
                       cu::FunctionObject{"railgauge_compare", compare},
                       cu::FunctionObject{"railgauge_answer_flags", answer_flags},
                       cu::FunctionObject{"railgauge_answer_gated", answer_gated},
                       cu::FunctionObject{"railgauge_pass_data", pass_data},
                       cu::FunctionObject{"railgauge_copy", copy},
                       cu::FunctionObject{"railgauge_copy_tma", copy},
                       cu::FunctionObject{"railgauge_copy_multicast", copy},
                       cu::FunctionObject{"railgauge_copy_both", copy_both},
                       cu::FunctionObject{"railgauge_copy_both_again", copy_both},
                       cu::FunctionObject{"railgauge_clear_units", clear_units},
                       cu::FunctionObject{"railgauge_chase", chase}};

}  // namespace

cu::Function twin_named(const char* name) {
  for (cu::FunctionObject& function : g_functions)
    if (std::string_view(function.name) == name) return &function;
  cu::Function const found = nccl_twin_named(name);
  return found != nullptr ? found : gin_twin_named(name);
}

}  // namespace railgauge::fake
