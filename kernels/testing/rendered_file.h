// Compares a rendered text with its committed file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace railgauge {

// Expects that the file at `path`, relative to the tree's root, equals `rendered`. With
// RAILGAUGE_UPDATE_GOLDEN=1 writes the file first.
inline void expect_file(const std::string& path, const std::string& rendered) {
  if (const char* update = std::getenv("RAILGAUGE_UPDATE_GOLDEN"); update && *update == '1')
    std::ofstream(path, std::ios::binary) << rendered;
  std::ifstream file(path, std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(stored, rendered) << path << " differs; RAILGAUGE_UPDATE_GOLDEN=1 writes it";
}

}  // namespace railgauge
