#include "controller/cli/bundle/redact.h"

#include <utility>

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

TEST(Redact, ANameIsKnownInOtherLettersAndWithoutItsDomain) {
  Redactor redactor;
  redactor.learn("node", "GPU001.fabric.example");
  redactor.learn("node", "10.fabric.example");
  EXPECT_EQ(redactor.apply("gpu001 Gpu001.Fabric.Example GPU001/mlx5_0:1 10"),
            "node-1 node-1 node-1/mlx5_0:1 10");
  redactor.learn("node", "gpu001");
  EXPECT_EQ(redactor.apply("gpu001"), "node-1") << "no second word for it";
}

TEST(Redact, ANameInsideOfAWordIsFoundTheLongestFirst) {
  Redactor redactor;
  redactor.learn("node", "gpu001");
  redactor.learn("node", "gpu001-b");
  redactor.learn("node", "7");
  EXPECT_EQ(redactor.apply("gpu001-ib0 log_GPU001.txt gpu001-b-ib0 gpu0011-ib0 x-gpu001"),
            "node-1-ib0 log_node-1.txt node-2-ib0 gpu0011-ib0 x-node-1");
  EXPECT_EQ(redactor.apply("6.1.0-7 a_7"), "6.1.0-7 a_7") << "a number says nothing in a word";
}

TEST(Redact, ASwitchThatIsCalledLikeAFigureStays) {
  Redactor redactor;
  for (const char* leaf : {"1", "a", "12", "sw-1"}) redactor.learn("leaf", leaf);
  EXPECT_EQ(redactor.apply("1 a 12 sw-1"), "1 a 12 leaf-1");
}

TEST(Redact, AnAddressIsFoundBesideSentencesAndLabels) {
  Redactor redactor;
  redactor.learn("address", "506b:4b03:00cb:1234");
  EXPECT_EQ(redactor.apply("lost 2001:db8::1. gid:fe80::1, fe80::1: 2001:db8::1;"),
            "lost address-2. gid:address-3, address-3: address-2;");
  EXPECT_EQ(redactor.apply("::ffff:192.0.2.1 [2001:db8::1]:7443"),
            "::ffff:address-4 [address-2]:7443");
  EXPECT_EQ(redactor.apply("0x506B4B0300CB1234 506b4b0300cb1234"), "address-1 address-1");
  EXPECT_EQ(redactor.apply("0000:9a:00.0 0000:9a:00: 12:00:00."),
            "0000:9a:00.0 0000:9a:00: 12:00:00.");
}

TEST(Redact, PeopleAreFoundWhateverSignsTheirNamesHave) {
  Redactor redactor;
  redactor.learn("person", "ada@fabric.example");
  redactor.learn("person", "Grace Hopper");
  redactor.learn("person", "uid 100");
  EXPECT_EQ(redactor.apply("cancelled by ada@fabric.example, GRACE HOPPER and uid 100; uid 1000"),
            "cancelled by person-1, person-2 and person-3; uid 1000");
  EXPECT_EQ(redactor.apply("ada"), "person-1");
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
