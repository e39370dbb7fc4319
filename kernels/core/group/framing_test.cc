#include "kernels/core/group/framing.h"

#include <fcntl.h>

#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge {
namespace {

Note note_of(std::string text) {
  Note note;
  note.set_severity("info");
  note.set_text(std::move(text));
  return note;
}

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe(int flags) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), flags | O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

TEST(Framing, RoundTripsMessagesOfAnyLength) {
  std::string stream;
  const std::vector<std::size_t> lengths{0, 1, 100, 127, 128, 16'383, 16'384, 1'000'000};
  for (const std::size_t length : lengths) stream += frame(note_of(std::string(length, 'x')));
  stream += frame(Note());
  FrameReader reader;
  reader.feed(stream);
  for (const std::size_t length : lengths) {
    const auto bytes = reader.next();
    ASSERT_TRUE(bytes && *bytes) << length;
    Note note;
    ASSERT_TRUE(note.ParseFromString(**bytes));
    EXPECT_EQ(note.text().size(), length);
  }
  EXPECT_EQ(reader.next().value(), "") << "an empty message is a frame too";
  EXPECT_EQ(reader.next().value(), std::nullopt);
  EXPECT_EQ(reader.pending(), 0U);
}

TEST(Framing, TakesBytesOneByOne) {
  const std::string stream = frame(note_of(std::string(300, 'a'))) + frame(note_of("b"));
  FrameReader reader;
  std::vector<std::size_t> lengths;
  for (const char byte : stream) {
    reader.feed({&byte, 1});
    const auto bytes = reader.next();
    ASSERT_TRUE(bytes);
    if (*bytes) lengths.push_back((*bytes)->size());
  }
  EXPECT_EQ(lengths, (std::vector<std::size_t>{309, 9}));
}

TEST(Framing, GarbageIsDataLossAndStaysSo) {
  FrameReader reader;
  reader.feed("\xff\xff\xff\xff\xff\xff");
  for (int i = 0; i < 3; ++i) {
    const auto bytes = reader.next();
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, Code::kDataLoss);
    EXPECT_EQ(bytes.error().message, "frame length is no varint");
  }
}

TEST(Framing, ALengthAboveTheBoundIsRefusedBeforeItsBytesCome) {
  FrameReader reader;
  reader.feed("\x81\x80\x80\x04");  // 8 MiB and one byte
  EXPECT_EQ(reader.next().error().message, "frame of 8388609 bytes; at most 8388608 are allowed");
  FrameReader largest;
  largest.feed(std::string_view("\x80\x80\x80\x04", 4));
  EXPECT_EQ(largest.next().value(), std::nullopt);
}

TEST(FramingDeathTest, FramingAMessageAboveTheBoundStopsTheProcess) {
  EXPECT_DEATH((void)frame(note_of(std::string(kMaxFrameBytes, 'x'))), "CHECK failed");
}

class WriteAll : public testing::TestWithParam<int> {
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
};
INSTANTIATE_TEST_SUITE_P(BlockingOrNot, WriteAll, testing::Values(0, O_NONBLOCK));

TEST_P(WriteAll, DeliversMoreThanThePipeHolds) {
  const Pipe pipe = make_pipe(GetParam());
  const std::string sent = frame(note_of(std::string(1'000'000, 'x')));
  auto reading = std::async(std::launch::async, [&] {
    std::string got;
    std::array<char, 5000> bytes{};
    while (got.size() < sent.size()) {
      const ssize_t n = ::read(pipe.read.get(), bytes.data(), bytes.size());
      if (n > 0) got.append(bytes.data(), static_cast<std::size_t>(n));
      if (n <= 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return got;
  });
  EXPECT_TRUE(write_all(pipe.write.get(), sent, 10));
  EXPECT_EQ(reading.get(), sent);
}

TEST_P(WriteAll, AReaderThatIsStuckEndsItByTheDeadline) {
  const Pipe pipe = make_pipe(GetParam());
  const auto written = write_all(pipe.write.get(), std::string(1'000'000, 'x'), 0.05);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kDeadlineExceeded);
}

TEST_P(WriteAll, AReaderThatIsGoneIsUnavailable) {
  Pipe pipe = make_pipe(GetParam());
  pipe.read.reset();
  const auto written = write_all(pipe.write.get(), "x", 1);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kUnavailable);
  EXPECT_NE(written.error().message.find("Broken pipe"), std::string::npos);
}

}  // namespace
}  // namespace railgauge
