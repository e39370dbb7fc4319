#include "controller/http/local_host.h"

#include <gtest/gtest.h>

namespace railgauge::http {
namespace {

TEST(LocalHost, AreItsNamesAndAddressesAlone) {
  for (const char* name : {"localhost", "::1", "127.0.0.1", "127.1.2.3"})
    EXPECT_TRUE(is_loopback(name)) << name;
  for (const char* name : {"", "127.evil.example", "127.0.0.1.example", "127.1", "128.0.0.1",
                           "0.0.0.0", "::", "localhost.example"})
    EXPECT_FALSE(is_loopback(name)) << name;
}

}  // namespace
}  // namespace railgauge::http
