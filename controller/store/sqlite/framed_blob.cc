#include "controller/store/sqlite/framed_blob.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "controller/store/sqlite/compress.h"

namespace railgauge::store {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the numbers in a blob are

// Skippable frames by zstd's format: this number, the size of the content, the content.
constexpr std::uint32_t kSkippable = 0x184D2A5E;
constexpr std::size_t kPreface = 2 * sizeof(std::uint32_t);

// Numbers in a blob have four bytes, the lowest first.
void append(std::string& to, std::uint32_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.append(bytes, sizeof number);
}

std::uint32_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

tl::unexpected<Error> damaged() { return fail(Code::kDataLoss, "the stored body is damaged"); }

}  // namespace

// The content of the skippable frame: the number of frames, their sizes, the compressed head.
std::string framed_body(std::string_view head, std::string_view bytes, std::size_t frame_bytes) {
  std::vector<std::string> frames;
  for (std::size_t begin = 0; begin < bytes.size(); begin += frame_bytes)
    frames.push_back(compress(bytes.substr(begin, frame_bytes)));
  std::string content;
  append(content, static_cast<std::uint32_t>(frames.size()));
  for (const std::string& frame : frames) append(content, static_cast<std::uint32_t>(frame.size()));
  content += compress(head);
  std::string out;
  append(out, kSkippable);
  append(out, static_cast<std::uint32_t>(content.size()));
  out += content;
  for (const std::string& frame : frames) out += frame;
  return out;
}

Result<std::string> FramedBlob::bytes(std::size_t offset, std::size_t size) const {
  const auto whole = static_cast<std::size_t>(sqlite3_blob_bytes(blob_.get()));
  if (offset > whole || size > whole - offset) return damaged();
  std::string out(size, '\0');
  if (sqlite3_blob_read(blob_.get(), out.data(), static_cast<int>(size),
                        static_cast<int>(offset)) != SQLITE_OK)
    return damaged();
  return out;
}

Result<FramedBlob> FramedBlob::open(Connection& connection, const char* table, const char* column,
                                    std::int64_t id) {
  const auto none = [&] {
    return fail(Code::kNotFound, fmt::format("{} {}: its {} has no head", table, id, column));
  };
  FramedBlob found;
  sqlite3_blob* raw = nullptr;
  const int code = sqlite3_blob_open(connection.raw(), "main", table, column, id, 0, &raw);
  found.blob_.reset(raw);
  if (code == SQLITE_ERROR) return none();
  if (code != SQLITE_OK) return tl::unexpected(connection.error("open a blob"));
  const auto whole = static_cast<std::size_t>(sqlite3_blob_bytes(raw));
  if (whole < kPreface) return none();
  const std::string preface = RG_TRY(found.bytes(0, kPreface));
  if (number_at(preface, 0) != kSkippable) return none();
  const std::uint32_t size = number_at(preface, sizeof(std::uint32_t));
  if (size > kMostHeadBytes || size < sizeof(std::uint32_t)) return damaged();
  const std::string content = RG_TRY(found.bytes(kPreface, size));
  const std::size_t frames = number_at(content, 0);
  const std::size_t begin = sizeof(std::uint32_t) * (frames + 1);
  if (begin > content.size()) return damaged();
  found.offsets_ = {kPreface + size};
  for (std::size_t i = 1; i <= frames; ++i)
    found.offsets_.push_back(found.offsets_.back() + number_at(content, i * sizeof(std::uint32_t)));
  if (found.offsets_.back() != whole) return damaged();
  auto head = decompress(std::string_view(content).substr(begin));
  if (!head) return damaged();
  found.head_ = std::move(*head);
  return found;
}

Result<std::string> FramedBlob::frame(std::size_t index) const {
  const std::size_t offset = offsets_[index];
  return decompress(RG_TRY(bytes(offset, offsets_[index + 1] - offset)));
}

}  // namespace railgauge::store
