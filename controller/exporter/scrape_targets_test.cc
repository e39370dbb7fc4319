#include "controller/exporter/scrape_targets.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string targets_of(const std::vector<ScrapeTarget>& nodes) { return scrape_targets(nodes); }

TEST(ScrapeTargets, AreAsHttpSdReadsThem) {
  EXPECT_EQ(targets_of({{"gpu001", "ipv4:192.0.2.1:40112", "7471"},
                        {"gpu002", "ipv6:%5B2001:db8::1%5D:40113", "9471"}}),
            R"([
{"targets":["192.0.2.1:7471"],"labels":{"job":"railgauge-agent","node":"gpu001","__meta_railgauge_metrics_port":"7471"}},
{"targets":["[2001:db8::1]:9471"],"labels":{"job":"railgauge-agent","node":"gpu002","__meta_railgauge_metrics_port":"9471"}}
]
)");
  EXPECT_EQ(targets_of({}), "[\n]\n");
}

TEST(ScrapeTargets, OfAnAgentThatDoesNotSayItsPortHaveTheUsualOne) {
  EXPECT_THAT(targets_of({{"n1", "ipv4:192.0.2.1:7", ""}}), HasSubstr("\"192.0.2.1:7471\""));
}

TEST(ScrapeTargets, AreNamedByTheirNodeWhereTheStreamHasNoHost) {
  for (const char* peer : {"unix socket", "", "ipv4:", "ipv6:%5Bfe80::1%25eth0%5D:7", "ipv4:\"x:7"})
    EXPECT_THAT(targets_of({{"n1", peer, "80"}}), HasSubstr("[\"n1:80\"]")) << peer;
}

TEST(ScrapeTargets, LeaveOutAgentsWithoutMetricsAndTextsThatAreNoNameOrPort) {
  const std::string list = targets_of({{"n1", "ipv4:192.0.2.1:7", "none"},
                                       {"n2", "ipv4:192.0.2.2:7", "0"},
                                       {"n3", "ipv4:192.0.2.3:7", "65536"},
                                       {"n4", "ipv4:192.0.2.4:7", "80/x"},
                                       {"a\"b", "ipv4:192.0.2.5:7", "80"},
                                       {"n6", "ipv4:192.0.2.6:7", "80"}});
  EXPECT_THAT(list, HasSubstr("n6"));
  for (const char* other : {"n1", "n2", "n3", "n4", "a\"b"})
    EXPECT_THAT(list, Not(HasSubstr(other)));
}

TEST(ScrapeTargets, AreBounded) {
  const std::vector<ScrapeTarget> many(kMostScrapeTargets + 5, {"n1", "ipv4:192.0.2.1:7", "80"});
  const std::string list = targets_of(many);
  EXPECT_EQ(static_cast<std::size_t>(std::count(list.begin(), list.end(), '\n')),
            kMostScrapeTargets + 2);
}

}  // namespace
}  // namespace railgauge
