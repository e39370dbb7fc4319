#include "controller/listen/first_bytes.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A TLS handshake message of the type with a body of this many bytes.
Bytes message(std::uint8_t type, std::size_t body) {
  Bytes bytes{type, static_cast<std::uint8_t>(body >> 16U), static_cast<std::uint8_t>(body >> 8U),
              static_cast<std::uint8_t>(body)};
  bytes.resize(bytes.size() + body, 0x5a);
  return bytes;
}

// The message in records of at most `most` bytes.
Bytes in_records(const Bytes& message, std::size_t most) {
  Bytes bytes;
  for (std::size_t at = 0; at < message.size(); at += most) {
    const std::size_t length = std::min(most, message.size() - at);
    bytes.insert(bytes.end(), {22, 3, 1, static_cast<std::uint8_t>(length >> 8U),
                               static_cast<std::uint8_t>(length)});
    bytes.insert(bytes.end(), message.begin() + static_cast<std::ptrdiff_t>(at),
                 message.begin() + static_cast<std::ptrdiff_t>(at + length));
  }
  return bytes;
}

const Bytes kHello = message(1, 512);

TEST(ClientHello, IsIncompleteUntilItsLastByteHoweverItIsSplit) {
  for (const std::size_t most :
       {std::size_t{16'384}, std::size_t{100}, std::size_t{3}, std::size_t{1}}) {
    const Bytes bytes = in_records(kHello, most);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      ASSERT_EQ(look_at_client_hello(std::span(bytes).first(size)), FirstBytes::kIncomplete)
          << size << " of " << bytes.size() << " bytes in records of " << most;
    EXPECT_EQ(look_at_client_hello(bytes), FirstBytes::kComplete) << most;
  }
}

TEST(ClientHello, MayHaveBytesBehindIt) {
  Bytes bytes = in_records(kHello, 16'384);
  bytes.resize(bytes.size() + 100, 0xff);
  EXPECT_EQ(look_at_client_hello(bytes), FirstBytes::kComplete);
}

TEST(ClientHello, GarbageIsForeignAtTheFirstWrongByte) {
  const auto text = [](std::string_view chars) { return Bytes(chars.begin(), chars.end()); };
  EXPECT_EQ(look_at_client_hello(text("G")), FirstBytes::kForeign);
  EXPECT_EQ(look_at_client_hello(text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), FirstBytes::kForeign);
  EXPECT_EQ(look_at_client_hello(text("SSH-2.0-x\r\n")), FirstBytes::kForeign);
  EXPECT_EQ(look_at_client_hello(Bytes{22, 2}), FirstBytes::kForeign);                 // SSL 2
  EXPECT_EQ(look_at_client_hello(Bytes{21, 3, 1, 0, 2, 1, 0}), FirstBytes::kForeign);  // an alert
  EXPECT_EQ(look_at_client_hello(Bytes{22, 3, 1, 0, 0}), FirstBytes::kForeign);  // empty record
  EXPECT_EQ(look_at_client_hello(Bytes{22, 3, 1, 0x40, 1}), FirstBytes::kForeign);
  EXPECT_EQ(look_at_client_hello(in_records(message(2, 10), 100)), FirstBytes::kForeign);
  Bytes mixed = in_records(kHello, 100);
  mixed[105] = 23;  // the second record has data of an application
  EXPECT_EQ(look_at_client_hello(mixed), FirstBytes::kForeign);
}

TEST(ClientHello, AnOversizedOneIsForeignBeforeItHasCome) {
  EXPECT_EQ(look_at_client_hello(Bytes{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}),
            FirstBytes::kForeign);
  // Declared small enough, but in records of one byte, so that it never fits.
  const Bytes slow = in_records(message(1, 8'000), 1);
  ASSERT_GT(slow.size(), kMostFirstBytes);
  EXPECT_EQ(look_at_client_hello(std::span(slow).first(kMostFirstBytes - 1)),
            FirstBytes::kIncomplete);
  EXPECT_EQ(look_at_client_hello(std::span(slow).first(kMostFirstBytes)), FirstBytes::kForeign);
}

TEST(Preface, IsCompleteWithItsLastByteAndForeignWithTheFirstWrongOne) {
  const std::string_view text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const Bytes bytes(text.begin(), text.end());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(look_at_preface(std::span(bytes).first(size)), FirstBytes::kIncomplete) << size;
  EXPECT_EQ(look_at_preface(bytes), FirstBytes::kComplete);
  EXPECT_EQ(look_at_preface(in_records(kHello, 600)), FirstBytes::kForeign);
  Bytes wrong = bytes;
  wrong[10] = 'x';
  EXPECT_EQ(look_at_preface(std::span(wrong).first(10)), FirstBytes::kIncomplete);
  EXPECT_EQ(look_at_preface(std::span(wrong).first(11)), FirstBytes::kForeign);
}

}  // namespace
}  // namespace railgauge
