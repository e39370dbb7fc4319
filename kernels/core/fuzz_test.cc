// Input from strangers and children, mutated from fixed seeds: nothing may crash, each accepted
// text must survive its own canonical form, each error must be one line. Run it under the asan
// preset too.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

constexpr int kTexts = 100'000;
constexpr int kStreams = 20'000;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  std::string mutate(std::string text) {
    for (std::size_t edits = below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      const char byte = below(4) == 0 ? static_cast<char>(random_()) : kBytes[below(kBytes.size())];
      switch (below(4)) {
        case 0:
          text.insert(at, 1, byte);
          break;
        case 1:
          text.erase(at, 1 + below(3));
          break;
        case 2:
          text = text.substr(at) + text.substr(0, at);
          break;
        default:
          if (at < text.size()) text[at] = byte;
      }
    }
    return text;
  }

  std::string pick(const std::vector<std::string>& seeds) {
    return mutate(seeds[below(seeds.size())]);
  }

 private:
  static constexpr std::string_view kBytes = "0123456789.,:-+ []eEkKMGTiBnuµsmhxinfa";
  std::mt19937_64 random_;
};

void expect_one_line(const Error& error) {
  ASSERT_FALSE(error.message.empty());
  ASSERT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  ASSERT_NE(error.message.back(), '.') << error.message;
  ASSERT_LT(error.message.size(), 1000U);
  ASSERT_EQ(valid_utf8(error.message), error.message);
}

TEST(Fuzz, SizesAndDurationsParseBackOrSayWhyNot) {
  const std::vector<std::string> seeds{"8",    "64KiB", "1.5 MB", "8192TiB", "0",
                                       "20us", "1.5ms", "9h",     "0.1ns",   "18446744073709551616",
                                       "1e30", "nan",   "infs",   ""};
  Mutator mutator(1);
  int accepted = 0;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = mutator.pick(seeds);
    if (const auto bytes = parse_bytes(text)) {
      ++accepted;
      ASSERT_EQ(parse_bytes(canonical_bytes(*bytes)), *bytes) << text;
    } else {
      expect_one_line(bytes.error());
    }
    if (const auto ns = parse_duration_ns(text)) {
      ++accepted;
      ASSERT_EQ(parse_duration_ns(canonical_duration(*ns)), *ns) << text;
    } else {
      expect_one_line(ns.error());
    }
  }
  EXPECT_GT(accepted, kTexts / 10) << "the mutations must reach what is valid too";
}

TEST(Fuzz, ParametersReachAFixedPointOrSayWhyNot) {
  const std::vector<std::string> seeds{
      "1:4KiB",  "8,64KiB,1MB",        "2:2", "7", "-3", "1.5", "true", "hot", "5s",
      "1:8,100", std::string(300, ',')};
  std::vector<ParameterInfo> declared;
  for (const char* type :
       {"integer", "number", "bytes", "duration", "boolean", "text", "choice", "bytes_list"}) {
    declared.emplace_back().set_type(type);
    declared.back().add_choices("hot");
    declared.back().set_minimum(0);
  }
  Mutator mutator(2);
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = mutator.pick(seeds);
    const ParameterInfo& info = declared[mutator.below(declared.size())];
    const auto once = check_parameter(info, text);
    if (!once) {
      expect_one_line(once.error());
      continue;
    }
    const auto twice = check_parameter(info, *once);
    ASSERT_TRUE(twice) << info.type() << " " << text << " became " << *once;
    ASSERT_EQ(*once, *twice) << info.type() << " " << text;
  }
}

TEST(Fuzz, AddressesParseBackOrSayWhyNot) {
  const std::vector<std::string> seeds{"7479", "10.0.0.1:7479", "[::1]:7479", "node2", "::1", "[",
                                       "]:"};
  Mutator mutator(3);
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = mutator.pick(seeds);
    if (const auto address = parse_listen_address(text); !address) expect_one_line(address.error());
    const auto address = parse_connect_address(text, 7479);
    if (!address) {
      expect_one_line(address.error());
      continue;
    }
    if (address->host.find_first_of("[]") != std::string::npos) continue;  // never resolves
    const auto again = parse_connect_address(to_string(*address), 1);
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(to_string(*again), to_string(*address)) << text;
  }
}

TEST(Fuzz, WordsAndQuotesTakeAnyBytes) {
  const std::vector<std::string> words{"depth", "size", "signal_every"};
  Mutator mutator(4);
  for (int i = 0; i < kTexts; ++i) {
    const std::string word = mutator.pick(words);
    ASSERT_EQ(edit_distance(word, "depth"), edit_distance("depth", word));
    ASSERT_EQ(did_you_mean(in_quotes(word), words).find('\n'), std::string::npos);
  }
}

// Frames in chunks of any length, with flipped, lost and added bytes.
TEST(Fuzz, AFrameReaderNeverGivesMoreThanItGot) {
  Record record;
  record.mutable_key()->set_run_id("run");
  record.mutable_point()->set_median(1234.5);
  record.mutable_point()->mutable_samples()->Resize(50, 1.0);
  Note note;
  note.set_text("text");
  const std::vector<std::string> seeds{
      frame(record),          frame(note),           frame(record) + frame(note), frame(Note()),
      "\xff\xff\xff\xff\xff", std::string(5, '\x80')};
  Mutator mutator(5);
  int whole = 0;
  int parsed_count = 0;
  const google::protobuf::LogSilencer quiet;  // it logs each string that is no UTF-8
  for (int i = 0; i < kStreams; ++i) {
    const std::string stream = mutator.pick(seeds) + mutator.pick(seeds);
    FrameReader reader;
    std::size_t given = 0;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t chunk = std::min(1 + mutator.below(40), stream.size() - at);
      reader.feed(std::string_view(stream).substr(at, chunk));
      at += chunk;
      auto bytes = reader.next();
      for (; bytes && *bytes; bytes = reader.next()) {
        ++whole;
        given += (*bytes)->size() + 1;
        ASSERT_LE(given, at);
        Record parsed;
        parsed_count += parsed.ParseFromString(**bytes) ? 1 : 0;
      }
      ASSERT_LE(reader.pending() + given, at);
      if (bytes) continue;
      expect_one_line(bytes.error());
      break;
    }
  }
  EXPECT_GT(whole, kStreams / 2);
  EXPECT_GT(parsed_count, 0);
  EXPECT_LT(parsed_count, whole);
}

}  // namespace
}  // namespace railgauge
