#include "controller/cli/redact.h"

#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

TEST(Redact, NamesAndAddressesBecomeTheSameNumberedWordsEverywhere) {
  Redactor redactor;
  redactor.learn("node", "gpu001");
  redactor.learn("node", "gpu002");
  redactor.learn("person", "ada");
  EXPECT_EQ(redactor.apply("gpu001/mlx5_0:1 to gpu002/mlx5_0:1, asked by ada."),
            "node-1/mlx5_0:1 to node-2/mlx5_0:1, asked by person-1.");
  EXPECT_EQ(redactor.apply("gpu002.fabric.example: connect 192.0.2.7:7443"),
            "node-2: connect address-1:7443");
  EXPECT_EQ(redactor.apply("192.0.2.7 again, fe80::1, 50:6b:4b:03:00:cb:12:34"),
            "address-1 again, address-2, address-3");
}

TEST(Redact, WhatIsNoNameStays) {
  Redactor redactor;
  redactor.learn("node", "n1");
  redactor.learn("node", "");
  const std::string text =
      "n10 0000:9a:00.0 2026-11-20 12:00:00 6.1.0-13 550.54.15 verbs.write_lat 1.5 a-b ...";
  EXPECT_EQ(redactor.apply(text), text);
}

TEST(Redact, SecretsGoAndTheirNamesStay) {
  EXPECT_EQ(without_secrets("{\"NCCL_AUTH_TOKEN\": \"abc def\", \"depth\": \"1\"}"),
            "{\"NCCL_AUTH_TOKEN\": \"(left out)\", \"depth\": \"1\"}");
  EXPECT_EQ(without_secrets("DB_PASSWORD=hunter2; pkey=0x7fff"),
            "DB_PASSWORD=(left out); pkey=0x7fff");
  EXPECT_EQ(without_secrets("a -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- b"),
            "a (left out) b");
  EXPECT_EQ(without_secrets("-----BEGIN PRIVATE KEY-----\nMII"), "(left out)");
  EXPECT_EQ(without_secrets("no token here"), "no token here");
}

}  // namespace
}  // namespace railgauge::cli
