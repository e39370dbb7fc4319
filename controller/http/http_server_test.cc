#include "controller/http/http_server.h"

#include <httplib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::http {
namespace {

using testing::HasSubstr;

TEST(HttpServer, ServesMetricsAndHealthAndNothingElse) {
  std::atomic<bool> healthy = true;
  const auto server = Server::start("127.0.0.1", 0,
                                    {.metrics = [] { return std::string("a_metric 1\n"); },
                                     .healthy = [&] { return healthy.load(); }});
  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("127.0.0.1", (*server)->port());
  const auto page = client.Get("/metrics");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->get_header_value("Content-Type"), HasSubstr("version=0.0.4"));
  EXPECT_EQ(page->body, "a_metric 1\n");
  EXPECT_EQ(client.Get("/healthz")->status, 200);
  healthy = false;
  EXPECT_EQ(client.Get("/healthz")->status, 503);
  EXPECT_EQ(client.Get("/other")->status, 404);
}

// A tenth of the bytes, for whom asks so: Prometheus does.
TEST(HttpServer, PacksThePageForWhomAsksForIt) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "a_metric{number=\"" + std::to_string(i) + "\"} 1\n";
  const auto server = Server::start(
      "127.0.0.1", 0, {.metrics = [&] { return text; }, .healthy = [] { return true; }});
  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("127.0.0.1", (*server)->port());
  const httplib::Headers gzip{{"Accept-Encoding", "gzip"}};
  const auto unpacked = client.Get("/metrics", gzip);
  ASSERT_TRUE(unpacked);
  EXPECT_EQ(unpacked->body, text);
  client.set_decompress(false);
  const auto packed = client.Get("/metrics", gzip);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->get_header_value("Content-Encoding"), "gzip");
  EXPECT_LT(packed->body.size() * 4, text.size());
  const auto plain = client.Get("/metrics");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->body, text);
  EXPECT_FALSE(plain->has_header("Content-Encoding"));
}

TEST(HttpServer, ATakenPortIsOneLine) {
  const auto first = Server::start("127.0.0.1", 0, {});
  ASSERT_TRUE(first);
  const auto second = Server::start("127.0.0.1", (*first)->port(), {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("the port is taken"));
}

}  // namespace
}  // namespace railgauge::http
