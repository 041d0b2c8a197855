package oss

import (
	"strings"
	"testing"
)

// Every form of endpoint on the service's list of regions (and of buckets at
// them) tells its region, or has to be told it.
func TestRegions(t *testing.T) {
	for endpoint, want := range map[string]string{
		"oss-cn-hangzhou.aliyuncs.com":                               "cn-hangzhou",
		"https://oss-cn-hangzhou.aliyuncs.com":                       "cn-hangzhou",
		"https://oss-cn-hangzhou.aliyuncs.com/":                      "cn-hangzhou",
		"http://OSS-CN-Beijing.aliyuncs.com:80":                      "cn-beijing",
		"oss-cn-wulanchabu-internal.aliyuncs.com":                    "cn-wulanchabu",
		"vpc100-oss-cn-shanghai.aliyuncs.com":                        "cn-shanghai",
		"oss-ap-southeast-1.aliyuncs.com":                            "ap-southeast-1",
		"oss-us-west-1-internal.aliyuncs.com":                        "us-west-1",
		"cn-hangzhou.oss.aliyuncs.com":                               "cn-hangzhou",
		"https://my-bucket.oss-eu-central-1.aliyuncs.com":            "eu-central-1",
		"https://my-bucket.cn-shenzhen.oss.aliyuncs.com":             "cn-shenzhen",
		"oss-cn-hzfinance.aliyuncs.com":                              "cn-hangzhou-finance",
		"oss-cn-hzfinance-internal.aliyuncs.com":                     "cn-hangzhou-finance",
		"oss-cn-hzjbp-a-internal.aliyuncs.com":                       "cn-hangzhou-finance",
		"oss-cn-hzjbp-b-internal.aliyuncs.com":                       "cn-hangzhou-finance",
		"cn-hangzhou-finance.oss.aliyuncs.com":                       "cn-hangzhou-finance",
		"oss-cn-shanghai-finance-1.aliyuncs.com":                     "cn-shanghai-finance-1",
		"oss-cn-shanghai-finance-1-pub.aliyuncs.com":                 "cn-shanghai-finance-1",
		"oss-cn-shanghai-finance-1-pub-internal.aliyuncs.com":        "cn-shanghai-finance-1",
		"cn-shanghai-finance.oss.aliyuncs.com":                       "cn-shanghai-finance-1",
		"oss-cn-szfinance.aliyuncs.com":                              "cn-shenzhen-finance-1",
		"oss-cn-shenzhen-finance-1-internal.aliyuncs.com":            "cn-shenzhen-finance-1",
		"oss-cn-beijing-finance-1-pub.aliyuncs.com":                  "cn-beijing-finance-1",
		"oss-cn-north-2-gov-1.aliyuncs.com":                          "cn-north-2-gov-1",
		"oss-cn-north-2-gov-1-internal.aliyuncs.com":                 "cn-north-2-gov-1",
		"https://oss-accelerate.aliyuncs.com":                        "",
		"https://oss-accelerate-overseas.aliyuncs.com":               "",
		"https://oss.aliyuncs.com":                                   "",
		"https://files.example.org":                                  "",
		"http://127.0.0.1:9000":                                      "",
		"http://[::1]:9000":                                          "",
		"https://oss-cn-hangzhou.aliyuncs.com.example.org":           "",
		"https://my-bucket.oss-accelerate.aliyuncs.com":              "",
		"https://another-bucket.oss-cn-hangzhou.aliyuncs.com.":       "",
		"https://notoss-cn-hangzhou.aliyuncs.com":                    "",
		"https://s3.oss-cn-hangzhou.aliyuncs.com":                    "",
		"https://my-bucket.oss-cn-hangzhou-internal.aliyuncs.com:80": "cn-hangzhou",
	} {
		at, region, err := place(&Options{Endpoint: endpoint, Bucket: "my-bucket"})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "media.oss.region")):
			t.Errorf("%s: region %q, %v; it has to be asked for", endpoint, region, err)
		case want != "" && (region != want || err != nil):
			t.Errorf("%s: region %q, want %q; %v", endpoint, region, want, err)
		case want != "" && (strings.Contains(at, "my-bucket") || !strings.Contains(at, "://")):
			t.Errorf("%s: the endpoint is %q", endpoint, at)
		}
		if _, region, err := place(&Options{Endpoint: endpoint, Bucket: "my-bucket", Region: "cn-given"}); region != "cn-given" || err != nil {
			t.Errorf("%s: what is given does not count: %q, %v", endpoint, region, err)
		}
	}
}

// Without a scheme nothing goes in the clear.
func TestEndpointWithoutScheme(t *testing.T) {
	if at, _, err := place(&Options{Endpoint: "oss-cn-hangzhou.aliyuncs.com"}); at != "https://oss-cn-hangzhou.aliyuncs.com" || err != nil {
		t.Errorf("%q, %v", at, err)
	}
}

// A domain of one's own is none of the service's, and has to be a name.
func TestCNAME(t *testing.T) {
	for endpoint, ok := range map[string]bool{
		"https://files.example.org": true, "files.example.org": true, "https://oss-cn-hangzhou.aliyuncs.com": false, "http://10.0.0.1": false,
	} {
		_, region, err := place(&Options{Endpoint: endpoint, CNAME: true, Region: "oss-cn-hangzhou"})
		if ok != (err == nil) || ok && region != "cn-hangzhou" {
			t.Errorf("%s: %q, %v", endpoint, region, err)
		}
	}
}

// Platforms fetch from outside of the cloud: no URL leads to an endpoint that
// only machines inside reach.
func TestInternalEndpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		"oss-cn-hangzhou-internal.aliyuncs.com":               "https://box.oss-cn-hangzhou.aliyuncs.com/k?",
		"http://vpc100-oss-cn-shanghai.aliyuncs.com":          "http://box.oss-cn-shanghai.aliyuncs.com/k?",
		"http://box.oss-us-west-1-internal.aliyuncs.com:80":   "http://box.oss-us-west-1.aliyuncs.com:80/k?",
		"oss-cn-shanghai-finance-1-pub-internal.aliyuncs.com": "https://box.oss-cn-shanghai-finance-1-pub.aliyuncs.com/k?",
		"oss-cn-hzjbp-a-internal.aliyuncs.com":                "https://box.oss-cn-hzjbp-a-internal.aliyuncs.com/k?",
		"https://oss-cn-beijing.aliyuncs.com":                 "https://box.oss-cn-beijing.aliyuncs.com/k?",
		"http://cn-beijing.oss.aliyuncs.com":                  "http://box.cn-beijing.oss.aliyuncs.com/k?",
	} {
		b, err := New(Options{Endpoint: endpoint, Bucket: "box", AccessKeyID: "id", AccessKeySecret: "secret"})
		if err != nil {
			t.Errorf("%s: %v", endpoint, err)
			continue
		}
		if at, err := b.url("k"); !strings.HasPrefix(at, want) || err != nil {
			t.Errorf("%s: %s, %v", endpoint, at, err)
		}
	}
}
