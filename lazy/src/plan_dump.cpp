// spyre/lazy/plan_dump.cpp — one file per stage of the compiler.
#include "plan_dump.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "spyre/base/env.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::lazy {

void check_dump_directory(const std::string& directory) {
  if (directory.empty()) return;
  std::error_code why;
  std::filesystem::create_directories(directory, why);
  if (!why && ::access(directory.c_str(), W_OK | X_OK) != 0) why = {errno, std::generic_category()};
  if (why) reject_env_value(Env::Dump, directory, str("cannot write there (", why.message(), ')'));
}

PlanDump::PlanDump(std::string directory, std::uint32_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 4 ? 4 - digits.size() : 0, '0');
  stem_ = (std::filesystem::path(std::move(directory)) / digits).string();
}

void PlanDump::operator()(std::string_view what, const std::string& text) const {
  const bool has_own_ending = what == "asm" || what == "dot";
  const std::string path = str(stem_, '.', what, has_own_ending ? "" : ".txt");
  std::ofstream file(path);
  file << text;
  if (!file.flush()) log(LogChannel::Cache, [&] { return str("dump: cannot write ", path); });
}

}  // namespace spyre::lazy
