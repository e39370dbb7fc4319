#include "controller/cli/bundle/tar.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "kernels/core/base/result.h"

namespace railgauge::cli {
namespace {

constexpr std::size_t kBlockBytes = 512;
constexpr std::uint64_t kOctalLimit = std::uint64_t{1} << 33U;  // 11 digits: 8 GiB

// As GNU tar and all others since write what octal digits do not hold: a mark, then the number with
// its highest byte first.
std::string large_number(std::uint64_t number) {
  std::string field(12, '\0');
  field[0] = '\x80';
  for (std::size_t i = 0; i < sizeof number; ++i)
    field[field.size() - 1 - i] = static_cast<char>(number >> (8 * i) & 0xffU);
  return field;
}

}  // namespace

// The header is written twice: now with size 0 to keep its place, and at the file's end with the
// size.
void TarWriter::begin(std::string_view name) {
  finish_file();
  RG_CHECK(!name.empty() && name.size() < sizeof name_);
  std::ranges::fill(name_, '\0');
  std::ranges::copy(name, name_);
  header_at_ = out_.tellp();
  size_ = 0;
  write_header();
}

void TarWriter::append(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  size_ += bytes.size();
}

// Two empty blocks end an archive.
void TarWriter::end() {
  finish_file();
  out_ << std::string(2 * kBlockBytes, '\0');  // two empty blocks
  out_.flush();
}

// Fields at their places, numbers in octal; the sum is that of all bytes with blanks in its place.
void TarWriter::write_header() {
  std::array<char, kBlockBytes> block{};
  const auto put = [&block](std::size_t at, std::string_view text) {
    std::ranges::copy(text, block.begin() + static_cast<std::ptrdiff_t>(at));
  };
  // name, mode, user, group, size, time, sum, type, magic: offsets of POSIX ustar.
  put(0, name_);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, size_ < kOctalLimit ? fmt::format("{:011o}", size_) : large_number(size_));
  put(136, fmt::format("{:011o}", unix_seconds_));
  put(148, "        ");
  put(156, "0");
  put(257, std::string_view("ustar\00000", 8));
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned total, char c) {
    return total + static_cast<unsigned char>(c);
  });
  put(148, fmt::format("{:06o}", sum));
  block.at(154) = '\0';
  out_.write(block.data(), block.size());
}

// Fills the last block, then goes back to the header and writes the size.
void TarWriter::finish_file() {
  if (header_at_ == std::streampos(-1)) return;
  out_ << std::string((kBlockBytes - size_ % kBlockBytes) % kBlockBytes, '\0');
  const std::streampos end = out_.tellp();
  out_.seekp(header_at_);
  write_header();  // now that the size is known
  out_.seekp(end);
  header_at_ = -1;
}

}  // namespace railgauge::cli
