#include "controller/relay/frame_guard.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/relay/frame_testing.h"

namespace railgauge::relay {
namespace {

using testing::HasSubstr;

FrameGuard greeted() {
  FrameGuard guard;
  EXPECT_EQ(guard.from_client(bytes_of(kTestPreface)).value_or(1), 0U);
  EXPECT_TRUE(guard.has_preface());
  return guard;
}
FrameBytes headers(std::uint32_t stream, std::uint8_t flags = kEndHeadersFlag) {
  return frame(kHeadersFrame, flags, stream, 20);
}
std::string refusal(FrameGuard& guard, const FrameBytes& bytes) {
  const auto work = guard.from_client(bytes);
  return work ? "" : work.error().message;
}

TEST(FrameGuard, APrefaceByteByByteIsKnownAtItsEndAndAnotherTextIsNone) {
  FrameGuard guard;
  for (const char c : kTestPreface) {
    EXPECT_FALSE(guard.has_preface());
    EXPECT_TRUE(guard.from_client(bytes_of(std::string_view(&c, 1))));
  }
  EXPECT_TRUE(guard.has_preface());
  FrameGuard other;
  EXPECT_THAT(refusal(other, bytes_of("GET / HTTP/1.1\r\n")), HasSubstr("no HTTP/2 preface"));
}

TEST(FrameGuard, AStreamIsOpenUntilBothSidesEndItOrOneResetsIt) {
  FrameGuard guard = greeted();
  EXPECT_EQ(guard.from_client(headers(1)).value(), 112U);
  EXPECT_EQ(guard.from_client(frame(kDataFrame, 0, 1, 100)).value(), 1U);
  EXPECT_EQ(guard.from_client(frame(kDataFrame, kEndStreamFlag, 1)).value(), 11U);
  EXPECT_EQ(guard.open_streams(), 1U) << "the answer is not there yet";
  guard.from_server(frame(kHeadersFrame, kEndHeadersFlag, 1, 5));
  EXPECT_EQ(guard.open_streams(), 1U);
  guard.from_server(frame(kHeadersFrame, kEndHeadersFlag | kEndStreamFlag, 1, 5));
  EXPECT_EQ(guard.open_streams(), 0U);
  EXPECT_EQ(guard.from_client(headers(3, kEndHeadersFlag | kEndStreamFlag)).value(), 112U);
  guard.from_server(frame(kResetFrame, 0, 3, 4));
  EXPECT_EQ(guard.open_streams(), 0U);
  EXPECT_TRUE(guard.from_client(joined({headers(5), frame(kResetFrame, 0, 5, 4)})));
  EXPECT_EQ(guard.open_streams(), 0U);
}

TEST(FrameGuard, TrailersOpenNoStream) {
  FrameGuard guard = greeted();
  EXPECT_TRUE(guard.from_client(headers(7)));
  EXPECT_EQ(guard.from_client(headers(7, kEndHeadersFlag | kEndStreamFlag)).value(), 12U);
  EXPECT_EQ(guard.open_streams(), 1U);
}

TEST(FrameGuard, AStreamMoreThanTheMostIsRefused) {
  FrameGuard guard = greeted();
  std::uint32_t stream = 1;
  for (; guard.open_streams() < FrameGuard::kMostOpenStreams; stream += 2)
    ASSERT_EQ(refusal(guard, headers(stream)), "");
  EXPECT_THAT(refusal(guard, headers(stream)), HasSubstr("129 open streams, at most 128"));
}

TEST(FrameGuard, AHeaderBlockHasABoundAndNothingInIt) {
  FrameGuard guard = greeted();
  EXPECT_EQ(refusal(guard, frame(kHeadersFrame, 0, 1, 8'000)), "");
  EXPECT_EQ(refusal(guard, frame(kContinuationFrame, 0, 1, 8'000)), "");
  EXPECT_THAT(refusal(guard, frame(kContinuationFrame, 0, 1, 1'000)),
              HasSubstr("headers of 17000 bytes or more"));
  FrameGuard other = greeted();
  EXPECT_EQ(refusal(other, frame(kHeadersFrame, 0, 1, 10)), "");
  EXPECT_THAT(refusal(other, frame(kPingFrame, 0, 0, 8)), HasSubstr("inside a header block"));
  FrameGuard third = greeted();
  EXPECT_EQ(refusal(third, frame(kHeadersFrame, 0, 1, 10)), "");
  EXPECT_EQ(refusal(third, frame(kContinuationFrame, kEndHeadersFlag, 1, 10)), "");
  EXPECT_EQ(refusal(third, frame(kPingFrame, 0, 0, 8)), "") << "the block has ended";
}

TEST(FrameGuard, FramesThatNoClientSendsAreRefused) {
  const auto refused = [](const FrameBytes& bytes) {
    FrameGuard guard = greeted();
    return refusal(guard, bytes);
  };
  EXPECT_THAT(refused(frame(kPushFrame, 4, 1, 10)), HasSubstr("PUSH_PROMISE"));
  EXPECT_THAT(refused(headers(2)), HasSubstr("stream 2"));
  EXPECT_THAT(refused(headers(0)), HasSubstr("stream 0"));
  EXPECT_THAT(refused(frame(kContinuationFrame, 4, 1, 5)), HasSubstr("without a header block"));
  EXPECT_THAT(refused(joined({frame(kHeadersFrame, 0, 1, 5), frame(kContinuationFrame, 4, 3, 5)})),
              HasSubstr("without a header block"));
  EXPECT_THAT(refused(frame(kSettingsFrame, 0, 0, 1'026)), HasSubstr("1026 bytes"));
  EXPECT_THAT(refused(frame(0x77, 0, 0, 16'000'000)), HasSubstr("16000000 bytes"));
}

TEST(FrameGuard, EmptyFramesAreWork) {
  FrameGuard guard = greeted();
  for (const std::uint8_t type : {kSettingsFrame, kPingFrame, kWindowFrame, kPriorityFrame})
    EXPECT_EQ(guard.from_client(frame(type, 0, 0, 8)).value(), 11U);
  EXPECT_EQ(guard.from_client(frame(kDataFrame, 0, 1, 0)).value(), 11U);
  EXPECT_EQ(guard.from_client(frame(kDataFrame, 0, 1, 16'384)).value(), 5U);
}

// The start of a message of gRPC: no flags, its length.
FrameBytes prefix(std::uint32_t length) {
  return {0, static_cast<std::uint8_t>(length >> 24U), static_cast<std::uint8_t>(length >> 16U),
          static_cast<std::uint8_t>(length >> 8U), static_cast<std::uint8_t>(length)};
}
FrameBytes data(std::uint32_t stream, const FrameBytes& content, std::uint8_t flags = 0) {
  FrameBytes bytes = frame(kDataFrame, flags, stream, content.size());
  std::ranges::copy(content, bytes.end() - static_cast<std::ptrdiff_t>(content.size()));
  return bytes;
}

TEST(FrameGuard, BytesOfAMessageCountUntilItsEnd) {
  FrameGuard guard = greeted();
  const auto send = [&guard](const FrameBytes& bytes) {
    EXPECT_EQ(refusal(guard, bytes), "");
    return guard.unfinished_bytes();
  };
  EXPECT_EQ(send(joined({headers(1), headers(3)})), 0U);
  EXPECT_EQ(send(data(1, prefix(300))), 0U);
  EXPECT_EQ(send(data(1, FrameBytes(100, 'x'))), 100U);
  EXPECT_EQ(send(data(3, joined({prefix(50), FrameBytes(20, 'y')}))), 120U);
  EXPECT_EQ(send(data(1, FrameBytes(200, 'x'))), 20U) << "whole";
  EXPECT_EQ(send(data(1, joined({prefix(0), prefix(2), FrameBytes(2, 'z'), prefix(9)}))), 20U);
  EXPECT_EQ(send(data(1, FrameBytes(8, 'z'))), 28U);
  EXPECT_EQ(send(frame(kResetFrame, 0, 3, 4)), 8U);
  guard.from_server(frame(kResetFrame, 0, 1, 4));
  EXPECT_EQ(guard.unfinished_bytes(), 0U);
  EXPECT_EQ(send(data(1, FrameBytes(8, 'z'))), 0U) << "the stream has ended";
}

TEST(FrameGuard, PaddingIsNoMessage) {
  constexpr std::uint8_t kPadded = 8;
  FrameGuard guard = greeted();
  ASSERT_EQ(refusal(guard, headers(1)), "");
  // A byte of the padding's length, the prefix, three bytes, and seven of padding.
  const FrameBytes padded = joined({{7}, prefix(10), FrameBytes(3, 'x'), FrameBytes(7, 0)});
  ASSERT_EQ(refusal(guard, data(1, padded, kPadded)), "");
  EXPECT_EQ(guard.unfinished_bytes(), 3U);
  ASSERT_EQ(refusal(guard, data(1, {200, 'x', 'x'}, kPadded)), "") << "gRPC refuses it";
  EXPECT_EQ(guard.unfinished_bytes(), 3U);
  ASSERT_EQ(refusal(guard, data(1, FrameBytes(7, 'x'))), "");
  EXPECT_EQ(guard.unfinished_bytes(), 0U);
}

// A direction's frames are the same however the bytes are cut.
TEST(FrameGuard, CutsChangeNothing) {
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    std::vector<FrameBytes> parts{bytes_of(kTestPreface)};
    std::uint32_t next = 1;
    for (int i = 0; i < 40; ++i) {
      const auto stream = static_cast<std::uint32_t>(1 + 2 * (random() % 20));
      switch (random() % 5) {
        case 0:
          parts.push_back(headers(next, random() % 2 == 0 ? 5 : 4));
          next += 2;
          break;
        case 1:
          parts.push_back(frame(kDataFrame, random() % 2 == 0 ? 0 : 9, stream, random() % 300));
          break;
        case 2:
          parts.push_back(frame(kResetFrame, 0, stream, 4));
          break;
        case 3:
          parts.push_back(frame(kHeadersFrame, 0, next, random() % 100));
          parts.push_back(frame(kContinuationFrame, kEndHeadersFlag, next, random() % 100));
          next += 2;
          break;
        default:
          parts.push_back(frame(kPingFrame, 0, 0, 8));
      }
    }
    const FrameBytes all = joined(parts);
    FrameGuard whole;
    const auto at_once = whole.from_client(all);
    ASSERT_TRUE(at_once);
    FrameGuard cut;
    std::uint32_t work = 0;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 50, all.size() - at);
      const auto some = cut.from_client(std::span(all).subspan(at, size));
      ASSERT_TRUE(some);
      work += *some;
      at += size;
    }
    EXPECT_EQ(work, *at_once);
    EXPECT_EQ(cut.open_streams(), whole.open_streams());
    EXPECT_EQ(cut.unfinished_bytes(), whole.unfinished_bytes());
  }
}

// Whatever comes, the guard keeps at most its bounds and never reads beyond the bytes.
TEST(FrameGuard, RandomBytesEndInARefusalOrWithinTheBounds) {
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    FrameGuard guard = greeted();
    for (int i = 0; i < 20; ++i) {
      FrameBytes bytes(random() % 400);
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 8);
      if (!guard.from_client(bytes)) break;
      guard.from_server(bytes);
      ASSERT_LE(guard.open_streams(), FrameGuard::kMostOpenStreams);
    }
  }
}

}  // namespace
}  // namespace railgauge::relay
