#include "controller/http/server.h"

#include <httplib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/metrics.h"

namespace railgauge::http {
namespace {

using testing::HasSubstr;

TEST(HttpServer, ServesMetricsAndHealthAndNothingElse) {
  Metrics metrics;
  metrics.run_ended("quick", "cli", "passed", 1'000);
  metrics.task_ended("verbs.write_lat", "passed");
  metrics.set_nodes(3, 1, 2);
  metrics.set_records_stored(12);
  bool healthy = true;
  const auto server = Server::start("127.0.0.1:0", {.metrics = [&] { return metrics.text(); },
                                                    .healthy = [&] { return healthy; }});
  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("127.0.0.1", (*server)->port());
  const auto page = client.Get("/metrics");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->get_header_value("Content-Type"), HasSubstr("version=0.0.4"));
  for (const char* line :
       {"railgauge_runs_total{outcome=\"passed\",trigger=\"cli\"} 1",
        "railgauge_tasks_total{kernel=\"verbs.write_lat\",outcome=\"passed\"} 1",
        "railgauge_nodes{state=\"attached\"} 3", "railgauge_nodes{state=\"lost\"} 2",
        "railgauge_records_stored_total 12", "railgauge_run_active 0",
        "railgauge_run_last_success_timestamp_seconds{suite=\"quick\"} 1000",
        "railgauge_controller_info{version=", "process_resident_memory_bytes ",
        "process_open_fds "})
    EXPECT_THAT(page->body, HasSubstr(line));
  EXPECT_EQ(client.Get("/healthz")->status, 200);
  healthy = false;
  EXPECT_EQ(client.Get("/healthz")->status, 503);
  EXPECT_EQ(client.Get("/other")->status, 404);
}

TEST(HttpServer, ATakenPortIsOneLineThatNamesTheFlag) {
  const auto first = Server::start("127.0.0.1:0", {});
  ASSERT_TRUE(first);
  const std::string listen = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = Server::start(listen, {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("--metrics-listen " + listen));
  EXPECT_FALSE(Server::start("nowhere", {}));
}

}  // namespace
}  // namespace railgauge::http
