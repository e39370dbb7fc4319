// Answers of a bounded size: which rows of a document are kept, and words for what is left out.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "kernels/core/base/result.h"

namespace railgauge::cli::mcp {

// The most bytes of a document as JSON: some 20,000 words of an assistant.
inline constexpr std::size_t kMostBytes = 49'152;
inline constexpr std::uint32_t kDefaultRows = 50;
inline constexpr std::uint32_t kMostRows = 1'000;
inline constexpr std::uint32_t kMostOffset = 8'999;

// The rows that a caller wants.
struct Window {
  std::uint32_t offset = 0;
  std::uint32_t limit = kDefaultRows;
  // Rows to ask the controller for, so that one more shows that there are more.
  [[nodiscard]] std::uint32_t rows_to_ask() const { return offset + limit + 1; }
};

// The answer of the controller, in the schema of the CLI's JSON.
struct Document {
  std::unique_ptr<google::protobuf::Message> message{};
  std::string rows{};           // the repeated field that the window is about; "": none
  bool is_newest_last = false;  // the window then counts from the last row
  std::uint32_t skipped = 0;    // rows before the first of `message`, which were not asked for
  bool has_more = false;        // rows follow that were not asked for
  std::string command{};        // of the CLI, that prints the whole: "railgauge findings show F"
};

// Cuts `document` to the window and to `most_bytes`, and returns a note for each cut. Long lists
// inside the rows are cut before rows are. kResourceExhausted: it does not fit however it is cut.
Result<std::vector<std::string>> cut(Document& document, const Window& window,
                                     std::size_t most_bytes = kMostBytes);

// Reports whether the message says of itself or of a part that its figures are no measured ones.
bool is_synthetic(const google::protobuf::Message& message);

}  // namespace railgauge::cli::mcp
