#include "controller/cli/redact.h"

#include <utility>

#include <gtest/gtest.h>

#include "controller/cli/secrets.h"

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

TEST(Redact, ANameIsKnownInOtherLettersAndWithoutItsDomain) {
  Redactor redactor;
  redactor.learn("node", "GPU001.fabric.example");
  redactor.learn("node", "10.fabric.example");
  EXPECT_EQ(redactor.apply("gpu001 Gpu001.Fabric.Example GPU001/mlx5_0:1 10"),
            "node-1 node-1 node-1/mlx5_0:1 10");
  redactor.learn("node", "gpu001");
  EXPECT_EQ(redactor.apply("gpu001"), "node-1") << "no second word for it";
}

TEST(Redact, SecretsGoAndTheirNamesStay) {
  constexpr std::pair<const char*, const char*> kTexts[] = {
      {"{\"NCCL_AUTH_TOKEN\": \"abc def\", \"depth\": \"1\"}",
       "{\"NCCL_AUTH_TOKEN\": \"(left out)\", \"depth\": \"1\"}"},
      {"DB_PASSWORD=hunter2; pkey=0x7fff", "DB_PASSWORD=(left out); pkey=0x7fff"},
      {"run --password hunter2 --depth 4", "run --password (left out) --depth 4"},
      {"run --password='hun ter2' -n 4", "run --password='(left out)' -n 4"},
      {R"x({"X_TOKEN":"a\"b","n":1})x", R"x({"X_TOKEN":"(left out)","n":1})x"},
      {R"x("{\"API_TOKEN\":\"abc\",\"n\":\"1\"}")x",
       R"x("{\"API_TOKEN\":\"(left out)\",\"n\":\"1\"}")x"},
      {"AUTH_KEY=abc", "AUTH_KEY=(left out)"},
      {"psk=abc,def x=1", "psk=(left out) x=1"},
      {"apikey: abc", "apikey: (left out)"},
      {"WIFI-PSK=abc", "WIFI-PSK=(left out)"},
      {"Authorization: Basic YWJj", "Authorization: (left out)"},
      {"-H 'Authorization: Bearer abc.def' x", "-H 'Authorization: (left out)' x"},
      {"bearer eyJhbGciOiJIUzI1NiJ9", "bearer (left out)"},
      {"git clone https://user:pw@host/x", "git clone https://(left out)@host/x"},
      {"token=\"unended", "token=\"(left out)"},
      {"a -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- b", "a (left out) b"},
      {"-----BEGIN PRIVATE KEY-----\nMII", "(left out)"}};
  for (const auto& [text, clean] : kTexts) EXPECT_EQ(without_secrets(text), clean);
}

TEST(Redact, WhatIsNoSecretStays) {
  for (const char* text :
       {"no token here", "the bearer of news", "{\"state\":\"pass\",\"depth\":\"1\"}",
        "pkey=0x7fff compass=1 bypass=2 passed: 3", "https://host/a@b", "token", "\\\\", "=", ""})
    EXPECT_EQ(without_secrets(text), text);
}

}  // namespace
}  // namespace railgauge::cli
