package oss

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

const domain = ".aliyuncs.com"

// renamed are the regions of endpoints that are called otherwise than theirs:
// the clouds for finance
// (help.aliyun.com/zh/oss/user-guide/regions-and-endpoints, read November 2026).
var renamed = map[string]string{
	"cn-hzfinance":              "cn-hangzhou-finance",
	"cn-hzjbp-a":                "cn-hangzhou-finance",
	"cn-hzjbp-b":                "cn-hangzhou-finance",
	"cn-shanghai-finance":       "cn-shanghai-finance-1",
	"cn-shanghai-finance-1-pub": "cn-shanghai-finance-1",
	"cn-szfinance":              "cn-shenzhen-finance-1",
	"cn-shenzhen-finance":       "cn-shenzhen-finance-1",
	"cn-beijing-finance-1-pub":  "cn-beijing-finance-1",
}

// place is where the bucket is: the endpoint with its scheme and without the
// bucket, and the region, which every signature of version 4 names. That is the
// only version that buckets of since 2025-09-01 take
// (help.aliyun.com, guidelines for upgrading V1 signatures to V4, read November 2026).
func place(o *Options) (endpoint, region string, err error) {
	endpoint = o.Endpoint
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Hostname() == "" {
		return "", "", fmt.Errorf("oss endpoint %q: want an address such as https://oss-cn-hangzhou.aliyuncs.com", o.Endpoint)
	}
	host := strings.ToLower(strings.TrimSuffix(at.Hostname(), "."))
	switch {
	case o.CNAME && (strings.HasSuffix(host, domain) || net.ParseIP(host) != nil):
		return "", "", fmt.Errorf("oss endpoint %q: with media.oss.cname it has to be your own domain that is bound to the bucket", o.Endpoint)
	case !o.CNAME && strings.HasSuffix(host, domain):
		if service, ok := strings.CutPrefix(host, strings.ToLower(o.Bucket)+"."); ok && o.Bucket != "" { // the bucket's own domain
			host, endpoint = service, strings.Replace(endpoint, at.Hostname(), service, 1)
		}
	}
	region = strings.TrimPrefix(o.Region, "oss-")
	if region == "" {
		region = regionOf(host)
	}
	if region == "" {
		return "", "", fmt.Errorf("oss endpoint %q does not tell its region: give media.oss.region, such as cn-hangzhou", o.Endpoint)
	}
	return endpoint, region, nil
}

// regionOf is the region of an endpoint's host: oss-<region>, also with
// -internal or vpc100-, and the dual-stack <region>.oss; "" for those that
// belong to none, such as the ones that accelerate.
func regionOf(host string) string {
	name, ok := strings.CutSuffix(host, domain)
	if !ok {
		return ""
	}
	region, dual := strings.CutSuffix(name, ".oss")
	if !dual {
		region, ok = strings.CutPrefix(strings.TrimPrefix(name, "vpc100-"), "oss-")
		if !ok {
			return ""
		}
	}
	region = strings.TrimSuffix(region, "-internal")
	if to := renamed[region]; to != "" {
		return to
	}
	if !strings.Contains(region, "-") || strings.Contains(region, ".") || strings.HasPrefix(region, "accelerate") {
		return ""
	}
	return region
}

// public is the endpoint by which everybody reaches a bucket that this machine
// reaches from within the cloud: platforms fetch from outside. Any other is its
// own.
func public(endpoint string) string {
	at, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	host := strings.ToLower(at.Hostname())
	name, ok := strings.CutSuffix(host, domain)
	if !ok || strings.HasPrefix(name, "oss-cn-hzjbp-") { // these have no other
		return endpoint
	}
	outside := strings.TrimSuffix(strings.TrimPrefix(name, "vpc100-"), "-internal")
	if outside == name {
		return endpoint
	}
	at.Host = strings.Replace(strings.ToLower(at.Host), host, outside+domain, 1)
	return at.String()
}
