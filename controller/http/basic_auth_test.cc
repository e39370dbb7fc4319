#include "controller/http/basic_auth.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "controller/http/http_testing.h"

namespace railgauge::http {
namespace {

TEST(BasicAuthTest, WrongPasswordsOfOneSourceLeaveTheOthersTheirTurn) {
  BasicAuth auth({{"ann", hash_of("right", 8)}});
  std::atomic<int> busy = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> attackers;
  for (int i = 0; i < 16; ++i)
    attackers.emplace_back([&, i] {
      const auto answer = auth.check(basic("ann:" + std::to_string(i)), "attacker");
      (answer == BasicAuth::Answer::kBusy ? busy : wrong) += 1;
    });
  EXPECT_EQ(auth.check(basic("ann:right"), "prometheus"), BasicAuth::Answer::kRight);
  for (std::thread& one : attackers) one.join();
  EXPECT_EQ(busy + wrong, 16);
  EXPECT_GT(busy, 0) << "one at a time of each source";
  EXPECT_EQ(auth.check(basic("ann:right"), "attacker"), BasicAuth::Answer::kRight) << "remembered";
}

TEST(BasicAuthTest, OnlyBcryptCounts) {
  EXPECT_EQ(bcrypt_cost("$2y$10$" + std::string(53, 'a')), 10);
  EXPECT_EQ(bcrypt_cost("$2x$10$" + std::string(53, 'a')), 0);
  EXPECT_EQ(bcrypt_cost("$1$10$" + std::string(54, 'a')), 0);
  EXPECT_EQ(bcrypt_cost("$2y$1a$" + std::string(53, 'a')), 0);
  EXPECT_EQ(bcrypt_cost("$2y$10$" + std::string(52, 'a') + ":"), 0);
  EXPECT_EQ(bcrypt_cost(""), 0);
}

TEST(BasicAuthTest, UnknownNamesAndMalformedHeadersAreWrong) {
  BasicAuth auth({{"ann", hash_of("right", 4)}});
  for (const std::string& header :
       {basic("bob:right"), basic("ann:Right"), basic("ann:right "), basic(":right"), basic("ann:"),
        basic("annright"), basic(std::string("ann:right\0x", 11)), std::string("Basic"),
        std::string("Basic !!!!"), std::string("Bearer ann:right"),
        "Basic " + std::string(100'000, 'A'), std::string()})
    EXPECT_EQ(auth.check(header, "a"), BasicAuth::Answer::kWrong) << header.substr(0, 40);
  EXPECT_EQ(auth.check(basic("ann:right"), "a"), BasicAuth::Answer::kRight);
  EXPECT_EQ(auth.check("bAsIc " + basic("ann:right").substr(6), "a"), BasicAuth::Answer::kRight);
}

}  // namespace
}  // namespace railgauge::http
