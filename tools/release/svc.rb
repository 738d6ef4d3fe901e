# Homebrew formula. A release replaces the words in double braces.
class Svc < Formula
  desc "REST API over PostgreSQL"
  homepage "https://github.com/{{repository}}"
  version "{{version}}"
  license "MIT"

  on_macos do
    on_arm do
      url "{{url}}/svc-aarch64-apple-darwin"
      sha256 "{{aarch64-apple-darwin}}"
    end
    on_intel do
      url "{{url}}/svc-x86_64-apple-darwin"
      sha256 "{{x86_64-apple-darwin}}"
    end
  end

  on_linux do
    on_arm do
      url "{{url}}/svc-aarch64-unknown-linux-gnu"
      sha256 "{{aarch64-unknown-linux-gnu}}"
    end
    on_intel do
      url "{{url}}/svc-x86_64-unknown-linux-gnu"
      sha256 "{{x86_64-unknown-linux-gnu}}"
    end
  end

  def install
    bin.install Dir["svc-*"].first => "svc"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/svc --version")
  end
end
