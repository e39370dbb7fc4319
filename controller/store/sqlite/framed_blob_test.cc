#include "controller/store/sqlite/framed_blob.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "controller/store/sqlite/compress.h"

namespace railgauge::store {
namespace {

class FramedBlobTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove(path_);
    auto opened = Connection::open(path_, Connection::Mode::kCreate, 1);
    ASSERT_TRUE(opened) << opened.error().message;
    connection_.emplace(std::move(*opened));
    ASSERT_TRUE(connection_->script("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)"));
  }
  void TearDown() override {
    connection_.reset();
    std::filesystem::remove(path_);
  }
  void put(std::int64_t id, std::string_view body) {
    ASSERT_TRUE(connection_->execute("INSERT INTO t VALUES (?1, ?2)", id, Blob{body}));
  }

  const std::string path_ = std::filesystem::temp_directory_path() /
                            ("framed-blob-" + std::to_string(::getpid()) + ".db");
  std::optional<Connection> connection_;
};

TEST_F(FramedBlobTest, HeadAndFramesComeBackAndOthersSeeTheBodyAlone) {
  const std::string head("he\0ad", 5);
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes.push_back(static_cast<char>(i * i));
  const std::string body = framed_body(head, bytes, 4'096);
  put(1, body);
  const auto blob = FramedBlob::open(*connection_, "t", "body", 1);
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ(blob->head(), head);
  ASSERT_EQ(blob->frames(), 3U);
  EXPECT_EQ(*blob->frame(1), bytes.substr(4'096, 4'096));
  EXPECT_EQ(*blob->frame(2), bytes.substr(8'192));
  std::string whole;
  ASSERT_TRUE(
      decompress_blocks(body, bytes.size(), [&](std::string_view block) { whole += block; }));
  EXPECT_EQ(whole, bytes);
}

TEST_F(FramedBlobTest, WhatHasNoHeadIsNotFoundAndADamagedHeadIsDataLoss) {
  const std::string body = framed_body("head", "figures", 4);
  put(1, compress_blocks("figures"));
  put(2, "");
  std::string cut = body;
  cut.pop_back();
  put(3, cut);
  std::string long_head = body;
  long_head[4] = long_head[5] = long_head[6] = long_head[7] = '\xff';
  put(4, long_head);
  for (const std::int64_t id : {1, 2, 9})
    EXPECT_EQ(FramedBlob::open(*connection_, "t", "body", id).error().code, Code::kNotFound) << id;
  for (const std::int64_t id : {3, 4})
    EXPECT_EQ(FramedBlob::open(*connection_, "t", "body", id).error().code, Code::kDataLoss) << id;
  EXPECT_FALSE(decompress_blocks(cut, 7, [](std::string_view) {}));
}

}  // namespace
}  // namespace railgauge::store
