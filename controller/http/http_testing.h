// Passwords for the tests of the HTTP room.
#pragma once

#include <crypt.h>
#include <openssl/evp.h>

#include <array>
#include <string>

namespace railgauge::http {

// A bcrypt hash of that cost.
inline std::string hash_of(const std::string& password, int cost) {
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> salt{};
  crypt_gensalt_rn("$2b$", static_cast<unsigned long>(cost), nullptr, 0, salt.data(),
                   static_cast<int>(salt.size()));
  crypt_data data{};
  return crypt_r(password.c_str(), salt.data(), &data);
}

// The value of "Authorization" for NAME:PASSWORD.
inline std::string basic(const std::string& credentials) {
  std::string code((credentials.size() + 2) / 3 * 4 + 1, '\0');
  code.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(code.data()),
                      reinterpret_cast<const unsigned char*>(credentials.data()),
                      static_cast<int>(credentials.size()))));
  return "Basic " + code;
}

}  // namespace railgauge::http
