// A long body in a row: a head that is read first, and frames of the body that are read one by one,
// so that a reader of a small part neither loads nor decompresses the rest. The head is in front in
// a skippable frame of zstd: decompress_blocks() reads the body as if the head was not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// Compresses `bytes` into frames of `frame_bytes`, above 0, with the compressed `head` in front.
std::string framed_body(std::string_view head, std::string_view bytes, std::size_t frame_bytes);

struct BlobTraits {
  using Type = sqlite3_blob*;
  static Type empty() { return nullptr; }
  static void release(Type raw) { sqlite3_blob_close(raw); }
};

// A body of framed_body() in the database. Must not outlive its connection.
class FramedBlob {
 public:
  // Bound of a head as it is stored.
  static constexpr std::uint32_t kMostHeadBytes = 64U << 20U;

  // Reads the head of the blob in `column` of the row `id` of `table`. kNotFound: the blob has no
  // head, or there is no such row. kDataLoss: the head is damaged.
  static Result<FramedBlob> open(Connection& connection, const char* table, const char* column,
                                 std::int64_t id);

  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] std::size_t frames() const { return offsets_.size() - 1; }
  // The decompressed frame; `index` is below frames(). kDataLoss: it is damaged.
  [[nodiscard]] Result<std::string> frame(std::size_t index) const;

 private:
  [[nodiscard]] Result<std::string> bytes(std::size_t offset, std::size_t size) const;

  Handle<BlobTraits> blob_;
  std::string head_;
  std::vector<std::size_t> offsets_{0};  // of the frames, and the end of the last one
};

}  // namespace railgauge::store
