#include "agent/os/resident.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace railgauge::agent {
namespace {

// From /proc/self/status, in kB.
long kilobytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (long value = 0; word == name + ":" && status >> value) return value;
  return -1;
}

TEST(Resident, PagesOfCodeAreGivenBackAndComeBackWhenTheyAreRun) {
  const long before = kilobytes("RssFile");
  ASSERT_GT(before, 0);
  const std::size_t given = give_back_memory();
  const long after = kilobytes("RssFile");
  EXPECT_GT(given, 1U << 20U);
  EXPECT_LT(after, before / 2) << "kB; what runs this test and reads its state is little of it";
  std::vector<int> numbers{3, 1, 2};  // runs on, and writable data is what it was
  static int counted = 41;
  EXPECT_EQ(++counted, 42);
  EXPECT_EQ(std::to_string(numbers.at(1)), "1");
}

TEST(Resident, HeapThatWasFreedIsGivenBack) {
  constexpr std::size_t kPiece = 4096;
  constexpr std::size_t kPieces = 8192;
  std::vector<char*> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(static_cast<char*>(std::malloc(kPiece)));
    for (std::size_t at = 0; at < kPiece; at += 512) pieces.back()[at] = 1;
  }
  // The last one keeps the heap from shrinking by itself.
  for (std::size_t i = 0; i + 1 < kPieces; ++i) std::free(pieces[i]);
  if (::mallinfo2().uordblks == 0) GTEST_SKIP() << "another allocator, a sanitizer's";
  const long before = kilobytes("RssAnon");
  give_back_memory();
  EXPECT_LT(kilobytes("RssAnon"), before - 16L * 1024);
  std::free(pieces.back());
}

}  // namespace
}  // namespace railgauge::agent
