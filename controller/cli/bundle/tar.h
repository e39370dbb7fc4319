// A tar archive (ustar) of regular files, written as it grows.
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

namespace railgauge::cli {

class TarWriter {
 public:
  // `out` must be seekable and outlive the writer. `unix_seconds` is the time of all files.
  // Failures to write are in the state of `out`; test it at the end.
  TarWriter(std::ostream& out, std::int64_t unix_seconds)
      : out_(out), unix_seconds_(unix_seconds) {}

  // A name of 1 to 100 bytes. Its file ends with the next begin() or end().
  void begin(std::string_view name);
  void append(std::string_view bytes);
  void end();

 private:
  void write_header();
  void finish_file();

  std::ostream& out_;
  const std::int64_t unix_seconds_;
  std::streampos header_at_ = -1;  // of the file that is being written
  std::string_view::size_type size_ = 0;
  char name_[101] = {};
};

}  // namespace railgauge::cli
