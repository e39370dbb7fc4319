#include "agent/link/generation.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "agent/os/atomic_file.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::agent {

Result<std::unique_ptr<GenerationBook>> GenerationBook::open(std::string path) {
  std::unique_ptr<GenerationBook> book(new GenerationBook(std::move(path)));
  std::error_code ignored;
  if (!std::filesystem::exists(book->path_, ignored)) return book;
  std::string text;
  std::ifstream file(book->path_);
  if (!file) return fail(Code::kPermissionDenied, fmt::format("{}: cannot be read", book->path_));
  file >> text;
  const auto number = parse_integer(text);
  if (!number || *number < 0)
    return fail(Code::kDataLoss,
                fmt::format("{}: {} is no generation; remove the file where no other controller of "
                            "the site is alive",
                            book->path_, in_quotes(text)));
  book->seen_ = static_cast<std::uint64_t>(*number);
  return book;
}

// The file comes first: after a power cut the agent must not obey what it had refused before. An
// equal generation, which is that of nearly every message, costs no write.
Status GenerationBook::take(std::uint64_t generation, const std::string& controller) {
  const std::lock_guard lock(mutex_);
  if (generation == seen_) return {};
  if (generation < seen_)
    return fail(Code::kFailedPrecondition,
                fmt::format("controller {}: it has generation {}, this agent has seen {}: another "
                            "controller has taken the site over{}",
                            controller, generation, seen_,
                            generation == 0 && !path_.empty()
                                ? fmt::format("; if none is to, remove {} and restart", path_)
                                : std::string()));
  if (!path_.empty()) {
    const std::filesystem::path path(path_);
    RG_TRY_OK(write_atomically(path.parent_path().string(), path.filename().string(),
                               fmt::format("{}\n", generation)));
  }
  seen_ = generation;
  return {};
}

std::uint64_t GenerationBook::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace railgauge::agent
