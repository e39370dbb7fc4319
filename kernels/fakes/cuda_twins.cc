// Native twins of our device functions: what the .cu files do, in the same order of arguments.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "kernels/fakes/cuda_objects.h"

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

std::array g_functions{cu::FunctionObject{"railgauge_fill", fill},
                       cu::FunctionObject{"railgauge_compare", compare}};

}  // namespace

cu::Function twin_named(const char* name) {
  for (cu::FunctionObject& function : g_functions)
    if (std::string_view(function.name) == name) return &function;
  return nullptr;
}

}  // namespace railgauge::fake
