#include "controller/cli/descriptor_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace railgauge::cli {

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (!write_out()) return traits_type::eof();
  if (!traits_type::eq_int_type(character, traits_type::eof()))
    sputc(traits_type::to_char_type(character));
  return traits_type::not_eof(character);
}

bool DescriptorBuffer::write_out() {
  const char* next = pbase();
  while (failure_ == 0 && next < pptr()) {
    const ssize_t written = write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
    if (written >= 0) {
      next += written;
    } else if (errno == EAGAIN) {
      // A pipe that its other end made non-blocking: as slow as its reader, for as long as it
      // takes.
      pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return failure_ == 0;
}

}  // namespace railgauge::cli
