// An output stream on a file descriptor that remembers why a write failed: a full disk must not
// look like success, and the standard streams forget the cause.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

namespace railgauge::cli {

// Buffered; written when full, at flush and at the end. Not thread safe. Does not close.
class DescriptorBuffer final : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  ~DescriptorBuffer() override { write_out(); }
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  // errno of the first write that failed, 0 when none did; nothing is written after it.
  [[nodiscard]] int failure() const { return failure_; }

 protected:
  int_type overflow(int_type character) override;
  int sync() override { return write_out() ? 0 : -1; }

 private:
  bool write_out();

  const int descriptor_;
  int failure_ = 0;
  std::array<char, 16384> buffer_{};
};

}  // namespace railgauge::cli
