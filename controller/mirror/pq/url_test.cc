#include "controller/mirror/pq/url.h"

#include <gmock/gmock.h>

namespace railgauge::pq {
namespace {

using ::testing::HasSubstr;

TEST(Url, ContainsNoPassword) {
  for (const char* url :
       {"postgres://ann:secret@db/railgauge", "postgresql://db/railgauge?password=secret",
        "postgres://db/railgauge?sslmode=require&password=x", "postgres://a:b@c:d@db/x",
        "postgres://db/x?p%61ssword=secret"}) {
    const Status checked = check_url(url);
    ASSERT_FALSE(checked) << url;
    EXPECT_THAT(checked.error().message, HasSubstr("passfile=FILE"));
  }
}

TEST(Url, MayNameUserPortAndAFileWithThePassword) {
  for (const char* url : {"postgres://ann@db:5432/railgauge?passfile=/etc/railgauge/pg",
                          "postgresql:///railgauge?host=/run/postgresql", "postgres://[::1]:5432/x",
                          "postgres://db/x?service=archive"})
    EXPECT_TRUE(check_url(url)) << url;
  EXPECT_FALSE(check_url("mysql://db/x"));
  EXPECT_FALSE(check_url("/run/postgresql"));
}

TEST(Url, IsShownWithoutItsParameters) {
  EXPECT_EQ(shown_url("postgres://db/x?passfile=/f"), "postgres://db/x");
}

}  // namespace
}  // namespace railgauge::pq
