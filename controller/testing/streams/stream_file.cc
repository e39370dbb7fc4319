#include "controller/testing/streams/stream_file.h"

#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/rfc3339.h"

namespace railgauge::testing_agent {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kMaxFrameBytes = 4U << 20U;
constexpr std::size_t kDateLetters = 10;

}  // namespace

std::string title_of(const api::Hello& hello) {
  return fmt::format("railgauge agent {}, contract {}.{}, recorded {}\n", hello.version(),
                     hello.contract().major(), hello.contract().minor(),
                     rfc3339(static_cast<double>(std::time(nullptr))).substr(0, kDateLetters));
}

std::string frame_of(const api::AgentMessage& message) {
  const std::string bytes = message.SerializeAsString();
  std::string frame(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    frame[i] = static_cast<char>(bytes.size() >> (8 * (kLengthBytes - 1 - i)));
  return frame + bytes;
}

Result<RecordedStream> read_stream(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  RecordedStream stream;
  if (!std::getline(file, stream.title)) return fail(Code::kNotFound, "{}: read: no line", path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes && at + i < bytes.size(); ++i)
      length = (length << 8U) | static_cast<unsigned char>(bytes[at + i]);
    at += kLengthBytes;
    api::AgentMessage& message = stream.messages.emplace_back();
    if (length > kMaxFrameBytes || at + length > bytes.size() ||
        !message.ParseFromArray(bytes.data() + at, static_cast<int>(length)))
      return fail(Code::kInvalidArgument, "{}: read: no message at byte {}", path, at);
    at += length;
  }
  return stream;
}

}  // namespace railgauge::testing_agent
