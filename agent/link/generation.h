// The highest generation of a controller that this agent has seen, kept in its state folder: of two
// controllers that both believe to be active, the agent obeys the later one. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

class GenerationBook {
 public:
  // Reads the file, or begins without one. kDataLoss: it has no number. kPermissionDenied: it
  // cannot be read.
  static Result<std::unique_ptr<GenerationBook>> open(std::string path);
  // Nothing is kept: for agents without a state folder.
  GenerationBook() = default;
  GenerationBook(const GenerationBook&) = delete;
  GenerationBook& operator=(const GenerationBook&) = delete;

  // Checks what a controller says, and stores a higher generation before it returns.
  // kFailedPrecondition, with both generations: the agent has seen a higher one. Others: it cannot
  // be stored.
  Status take(std::uint64_t generation, const std::string& controller);
  [[nodiscard]] std::uint64_t seen() const;

 private:
  explicit GenerationBook(std::string path) : path_(std::move(path)) {}

  const std::string path_{};
  mutable std::mutex mutex_;
  std::uint64_t seen_ = 0;
};

}  // namespace railgauge::agent
