// What is taken out of a bundle before it leaves the house.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace railgauge::cli {

// Secrets go from every bundle: private keys in PEM, and the values of what is called a password,
// token, secret or credential.
std::string without_secrets(std::string_view text);

// Names and addresses become numbered words ("node-3"), the same one at every place. What is not
// learnt and does not look like an address stays: text that people wrote has to be read before it
// is sent.
class Redactor {
 public:
  // `name` is one of `kind`: from now on it is "kind-N".
  void learn(std::string_view kind, std::string_view name);
  std::string apply(std::string_view text);

 private:
  std::string word_for(std::string_view token);
  std::string piece_for(std::string_view piece);
  const std::string& number(std::string_view kind, std::string_view name);

  std::map<std::string, std::string, std::less<>> words_;
  std::map<std::string, int, std::less<>> counts_;  // by kind
};

}  // namespace railgauge::cli
